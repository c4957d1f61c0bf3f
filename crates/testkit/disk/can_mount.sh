#!/bin/sh
# can_mount.sh FILESYSTEM: whether this machine can do what the power cuts need: a FUSE mount, a loop device, and this filesystem on it.
set -eu
filesystem=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
truncate -s 300M "$folder/image"
mkfs."$filesystem" -q "$folder/image" >/dev/null
: <>/dev/fuse
# In a mount namespace of its own, so that nothing stays mounted.
unshare --mount --propagation private mount -o loop "$folder/image" "$folder"
