/** Decides whether a device may poll again yet (RFC 8628 section 3.5). */
export interface DevicePolling {
  /** Notes a poll; true when it came sooner than the interval allows, which grows the interval. */
  isTooFast(deviceCode: string): boolean;
}

/** `intervalSeconds` is what the device authorization response states; `slowDownSeconds` is added at each slow_down. */
export function createDevicePolling(intervalSeconds: number, slowDownSeconds: number): DevicePolling {
  const polls = new Map<string, { at: number; intervalMs: number }>();
  /** Timers of clients may fire a little early. */
  const toleranceMs = 20;

  function isTooFast(deviceCode: string): boolean {
    const now = performance.now();
    const last = polls.get(deviceCode);
    const intervalMs = last?.intervalMs ?? intervalSeconds * 1000;
    const tooFast = last !== undefined && now - last.at + toleranceMs < intervalMs;
    polls.set(deviceCode, { at: now, intervalMs: tooFast ? intervalMs + slowDownSeconds * 1000 : intervalMs });
    return tooFast;
  }

  return { isTooFast };
}
