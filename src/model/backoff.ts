/** How the waits between tries of one thing grow. */
export interface Backoff {
  /** The longest wait after the first failure; doubled with each failure after it. More than 0. */
  firstMs: number;
  /** No wait is longer. */
  longestMs: number;
  /** The part of each wait that chance decides, so that those who failed together don't come back together: 0 none (when absent), 1 all. */
  jitter?: number;
}

/**
 * How long is waited before the next try: the one formula for it, exponential with a cap and jitter.
 * @param failures how often it failed before the failure after which is waited: 0 after the first
 * @param random 0 to below 1, for the jitter; absent: each wait is as short as it allows
 * @returns whole ms
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ why the cap comes before the jitter
 */
export function exponentialBackoffMs(
  { firstMs, longestMs, jitter = 0 }: Backoff,
  failures: number,
  random: () => number = () => 0,
): number {
  const wholeMs = Math.min(firstMs * 2 ** failures, longestMs);
  return Math.floor(wholeMs * (1 - jitter + jitter * random()));
}
