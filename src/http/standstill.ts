/** How often it is noted that timers ring. */
const BEAT_MS = 100;
/** Without a beat for this long, other timers may be overdue too. */
const STANDSTILL_MS = 3 * BEAT_MS;

let beatAt = performance.now();
setInterval(() => {
  beatAt = performance.now();
}, BEAT_MS).unref();

/**
 * Lets timers that came due while the process stood still (stopped, starved, busy) ring before anything goes out. What had come in
 * meanwhile is handled before them, so a request could leave although the deadline of what protects it has long passed.
 */
export async function overdueTimers(): Promise<void> {
  if (performance.now() - beatAt < STANDSTILL_MS) return;
  await new Promise((resolve) => setTimeout(resolve, 0));
}
