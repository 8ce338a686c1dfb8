// Loaded into a daemon by `node --import`: once it is told to end, what waits for seconds waits for a tenth of them and says how long
// it would have waited.
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
