/* The cost of a process. */
int main(void) { return 0; }
