// Loaded into a daemon by `node --import`. After SIGTERM, timers of a second or more run after a tenth of their delay and print the full
// delay.
const { setTimeout: inTime } = globalThis;

function hurried(work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout {
  if (ms < 1_000) return inTime(work, ms, ...args);
  const ring = () => {
    process.stderr.write(`waited ${ms} ms\n`);
    work(...args);
  };
  return inTime(ring, ms / 10);
}

process.once('SIGTERM', () => {
  globalThis.setTimeout = Object.defineProperties(
    hurried,
    Object.getOwnPropertyDescriptors(inTime),
  ) as typeof setTimeout;
});
