/** What the simulation says to a worker process, and what it answers. */

/** Everything that a worker is opened with. */
export interface WorkerPlaces {
  redisUrl: string;
  clinicUrl: string;
  sms: { url: string; accountSid: string; authToken: string; from: string };
  mail: { host: string; port: number };
  hookUrl: string;
}

/** One piece of work. `now` is the simulated moment in which it begins. */
export type Order = { now: number; tenant: string } & (
  | { work: 'pull' }
  | { work: 'remind'; reminder: string }
  | { work: 'callback'; channel: string; query: string; headers: Record<string, string>; body: string }
);

/** Where the worker is to die: it kills itself with SIGKILL. */
export type Death =
  /** At this many Redis commands from now, before it is sent or before its answer is seen. */
  | { during: 'redis'; commands: number; isCarriedOut: boolean }
  /** At the next delivery, before the call or before its outcome is known. */
  | { during: 'send'; isHandedOver: boolean };

/** To a worker. */
export type ToWorker = { begin: WorkerPlaces } | { number: number; order: Order } | { die: Death } | { end: true };

/** Result of an order. `status` is a callback's; `isRead` means that a pull read the clinic without an error. */
export interface Outcome {
  failed: string | null;
  status: number | null;
  isRead: boolean;
}

/** From a worker. */
export type FromWorker = { ready: true } | { number: number; outcome: Outcome };
