/** A share of what a remote side allows us: one client id, one mailbox, one project. */
export interface Budget {
  /**
   * Waits for a request's worth.
   * @param units what the remote side charges for it; one when absent
   * @throws MirrorError `remote` with `retryAfterMs` when the wait would be too long to sit through: code `budget-exhausted`, or
   *   `budget-paused` when the other side asked for it. The signal's reason when it is aborted
   */
  take(signal: AbortSignal, units?: number): Promise<void>;
  /** The other side refused a request for haste and said to wait this long; null when it named no wait. */
  refused(durationMs: number | null): Promise<void>;
  /** The other side answered something else. */
  accepted(): Promise<void>;
}
