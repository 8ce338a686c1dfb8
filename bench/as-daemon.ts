/** Replaces this process by one with the memory sizes of a daemon. Processes that it forks inherit them. Import it before all other files. */
const sizes = new URL('../bin/daemon-memory.js', import.meta.url).href;
const { withDaemonMemory } = (await import(sizes)) as { withDaemonMemory(args: readonly string[]): void };
withDaemonMemory(['run']);
