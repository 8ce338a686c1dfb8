/** The clock of this process, ahead of the real one. */
export interface ShiftedDate {
  offsetMs: number;
  /** Gives the real clock back. */
  restore(): void;
}

/** Has `Date` tell another time than it is. */
export function shiftDate(offsetMs = 0): ShiftedDate {
  const RealDate = globalThis.Date;
  const shifted: ShiftedDate = {
    offsetMs,
    restore() {
      globalThis.Date = RealDate;
    },
  };
  const now = () => RealDate.now() + shifted.offsetMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  });
  return shifted;
}

/** Returns the time of the host's clock, independent of `Date`. */
export function machineNow(): number {
  return performance.timeOrigin + performance.now();
}
