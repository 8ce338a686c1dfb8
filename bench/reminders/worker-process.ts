import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Death, FromWorker, Order, Outcome, ToWorker, WorkerPlaces } from './orders.ts';

/** A worker in a separate process. */
export interface WorkerProcess {
  readonly isAlive: boolean;
  /** @returns null when it died over it */
  run(order: Order): Promise<Outcome | null>;
  /** Has it kill itself at some point of what it does from now on. */
  dieAt(death: Death): void;
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>;
  /** Ends it in peace. */
  end(): Promise<void>;
}

/** Starts one and waits until it can work. @param script its file */
export async function startWorkerProcess(script: string, places: WorkerPlaces): Promise<WorkerProcess> {
  const child = fork(script, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const waiting = new Map<number, (outcome: Outcome | null) => void>();
  let [isAlive, serial] = [true, 0];
  const ready = Promise.withResolvers<void>();
  child.on('message', (message: FromWorker) => {
    if ('ready' in message) return ready.resolve();
    waiting.get(message.number)?.(message.outcome);
    waiting.delete(message.number);
  });
  child.once('exit', () => {
    isAlive = false;
    ready.reject(new Error('a worker ended before it could work'));
    for (const tell of waiting.values()) tell(null);
    waiting.clear();
  });
  send(child, { begin: places });
  await ready.promise;
  return {
    get isAlive() {
      return isAlive;
    },
    run(order) {
      const { promise, resolve } = Promise.withResolvers<Outcome | null>();
      if (!isAlive) return Promise.resolve(null);
      serial += 1;
      waiting.set(serial, resolve);
      send(child, { number: serial, order });
      return promise;
    },
    dieAt: (death) => send(child, { die: death }),
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async end() {
      send(child, { end: true });
      await exited;
    },
  };
}

/** Ignores errors: the exit of a dying worker is observed separately. */
function send(child: ChildProcess, message: ToWorker): void {
  child.send(message, () => {});
}
