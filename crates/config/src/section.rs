//! The macro that defines a section of the configuration file, and the description of its keys.

/// A key of the configuration file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The path, such as `limits.turns`. `*` stands for the name of a runner or target.
    pub path: &'static str,
    lines: &'static [&'static str],
}

impl Key {
    pub(super) const fn new(path: &'static str, lines: &'static [&'static str]) -> Self {
        Self { path, lines }
    }

    /// The meaning of the key: whole sentences on one line.
    pub fn meaning(&self) -> String {
        self.lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }
}

/// A section of the configuration file.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// The name, such as `limits`. `*` stands for the name of a runner or target.
    pub name: &'static str,
    /// The keys in the order of the documentation.
    pub keys: &'static [Key],
}

/// Defines a section: a struct with a field for each key. The doc comment of a field is the only description of its key. The file that
/// `askbox init` writes, the guide's table and the JSON Schema show it. Fields behind `and` are not keys.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        $section:literal $name:ident {
            $($(#[doc = $doc:literal])* $key:ident: $type:ty = $default:expr,)*
        }
        $(and { $(#[$attribute:meta])* $other:ident: $other_type:ty })?
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[derive(schemars::JsonSchema)]
        #[serde(default)]
        pub struct $name {
            $($(#[doc = $doc])* pub $key: $type,)*
            $($(#[$attribute])* pub $other: $other_type,)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* $($other: <$other_type>::default(),)? }
            }
        }

        impl $name {
            /// The paths of the section's keys.
            pub(crate) const PATHS: &[&str] = &[$(concat!($section, ".", stringify!($key))),*];

            /// The section's name and keys.
            pub const SECTION: crate::section::Section = crate::section::Section {
                name: $section,
                keys: &[$(crate::section::Key::new(concat!($section, ".", stringify!($key)), &[$($doc),*])),*],
            };
        }
    };
}
pub(super) use section;
