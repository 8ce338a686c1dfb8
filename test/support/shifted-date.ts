/** The clock of this process, ahead of the real one. */
export interface ShiftedDate {
  offsetMs: number;
  /** Gives the real clock back. */
  restore(): void;
}

/** Where a process keeps the `Date` that it began with: each realm of modules must find the same one. */
const REAL_DATE = Symbol.for('clinic-mirror.tests.real-date');
const realm = globalThis as { [REAL_DATE]?: DateConstructor };

/** Has `Date` tell another time than it is. */
export function shiftDate(offsetMs = 0): ShiftedDate {
  const RealDate = globalThis.Date;
  realm[REAL_DATE] ??= RealDate;
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

/**
 * Returns the time of the host's clock, whatever `Date` says. Not from `performance.timeOrigin`: a host corrects its clock while the tests
 * run, and that sum still says the old time in a process that began before the correction.
 */
export function machineNow(): number {
  return (realm[REAL_DATE] ?? Date).now();
}
