import { parentPort, Worker } from 'node:worker_threads';
import { message, type Text } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../model/time.ts';

/** Resource limits of a thread for one answer. */
interface ApartLimits {
  /** Processor time. Parsing 24 MiB of JSON takes a third of a second. */
  processorMs: number;
  /** Wall-clock time, for a thread without processor time. */
  elapsedMs: number;
  /** Memory: 24 MiB of text and 500,000 values use a third of the limit. */
  mebibytes: number;
}

export const APART_LIMITS: ApartLimits = { processorMs: 5 * SECOND_MS, elapsedMs: MINUTE_MS, mebibytes: 512 };

/** Concurrent threads of one kind. A host has at most one thread, so that hosts do not delay each other. */
const MOST_THREADS = 2;
/** Idle time of a thread: the next page of a list follows soon. An idle thread does not keep the process running. */
const IDLE_MS = 2 * SECOND_MS;
/** Interval for measuring a busy thread. */
const TICK_MS = 100;

/**
 * Memory for short-lived values of a thread. Node ends a thread near its limit and grants a little more memory until then. With a larger
 * young generation, one collection needs more than the grant, and V8 ends the whole process (`test/http/apart-out-of-memory.ts`).
 */
const YOUNG_MEBIBYTES = 16;

/** Runs threads that parse answers which are too large for the main thread, shared by all tenants. Threads start on first use. */
export class Apart {
  readonly #entry: URL;
  readonly #limits: ApartLimits;
  readonly #idle: { worker: Worker; timer: NodeJS.Timeout }[] = [];
  readonly #waiting: { host: string; start(): void }[] = [];
  readonly #busyHosts: string[] = [];

  /** @param entry file of the thread, which calls `answerApart` */
  constructor(entry: URL, limits: ApartLimits = APART_LIMITS) {
    this.#entry = entry;
    this.#limits = limits;
  }

  /**
   * Passes a request to a thread.
   * @param host the sender of the answer, for the error
   * @returns the results of the thread, each computed on demand
   * @throws MirrorError `contract`: `answer-too-large`, or the code of the thread's refusal
   */
  async *ask(request: unknown, host: string): AsyncGenerator<unknown, void> {
    await this.#turn(host);
    const worker = this.#take();
    let isSound = false;
    try {
      let reply = await replyOf(worker, request, this.#limits, host);
      while ('piece' in reply) {
        yield reply.piece;
        reply = await replyOf(worker, null, this.#limits, host);
      }
      isSound = true;
      if ('code' in reply) throw unreadable(reply.code, `${reply.message}: ${host}`);
    } finally {
      if (isSound) this.#park(worker);
      else await worker.terminate();
      this.#pass(host);
    }
  }

  async #turn(host: string): Promise<void> {
    if (this.#mayStart(host)) this.#busyHosts.push(host);
    else await new Promise<void>((resolve) => this.#waiting.push({ host, start: resolve }));
  }

  #mayStart(host: string): boolean {
    return this.#busyHosts.length < MOST_THREADS && !this.#busyHosts.includes(host);
  }

  #pass(host: string): void {
    this.#busyHosts.splice(this.#busyHosts.indexOf(host), 1);
    const next = this.#waiting.findIndex((one) => this.#mayStart(one.host));
    const [waiting] = next < 0 ? [] : this.#waiting.splice(next, 1);
    if (waiting === undefined) return;
    this.#busyHosts.push(waiting.host);
    waiting.start();
  }

  #take(): Worker {
    const idleWorker = this.#idle.pop();
    clearTimeout(idleWorker?.timer);
    const worker = idleWorker?.worker ?? this.#start();
    worker.ref();
    return worker;
  }

  #start(): Worker {
    const { mebibytes } = this.#limits;
    const worker = new Worker(this.#entry, {
      ...{ env: {}, argv: [], execArgv: [], stdin: false, stdout: true, stderr: true },
      resourceLimits: { maxOldGenerationSizeMb: mebibytes, maxYoungGenerationSizeMb: YOUNG_MEBIBYTES },
    });
    // A failed thread exits next, and the exit rejects the pending reply.
    worker.on('error', () => {});
    return worker;
  }

  #park(worker: Worker): void {
    worker.unref();
    const timer = setTimeout(() => {
      this.#idle.splice(
        this.#idle.findIndex((one) => one.worker === worker),
        1,
      );
      void worker.terminate();
    }, IDLE_MS).unref();
    this.#idle.push({ worker, timer });
  }
}

function replyOf(
  worker: Worker,
  asked: unknown,
  { processorMs, elapsedMs, mebibytes }: ApartLimits,
  host: string,
): Promise<ApartReply> {
  const { promise, resolve, reject } = Promise.withResolvers<ApartReply>();
  const endsAt = performance.now() + elapsedMs;
  let usedBefore: number | null = null;
  const fail = (cause: Text) => reject(unreadable('answer-too-large', message('about', { cause, names: host })));
  const ended = () => fail(message('answer-too-large.memory', { count: mebibytes }));
  const look = async () => {
    const used = await worker.cpuUsage().then(
      ({ user, system }) => (user + system) / 1_000,
      () => null,
    );
    usedBefore ??= used;
    const isOverdue = used !== null && usedBefore !== null && used - usedBefore > processorMs;
    if (isOverdue || performance.now() > endsAt) fail(message('answer-too-large.time', { count: processorMs }));
  };
  const timer = setInterval(look, TICK_MS);
  worker.once('message', resolve);
  worker.once('exit', ended);
  worker.postMessage(asked);
  return promise.finally(() => {
    clearInterval(timer);
    worker.off('message', resolve);
    worker.off('exit', ended);
  });
}

function unreadable(code: string, text: Text): MirrorError {
  return new MirrorError(text, {
    actor: 'contract',
    code,
    retry: 'later',
    remedy: code === 'answer-too-large' ? message('answer-too-costly.remedy') : undefined,
  });
}

/** Reply of a thread to each request: the next result, the end, or an error. */
type ApartReply = { piece: unknown } | { done: true } | { code: string; message: string };

/**
 * Runs inside a thread of `Apart`: handles one request at a time; null requests the next result.
 * @param work throws MirrorError to refuse; the message must be constant
 */
export function answerApart<Request>(work: (request: Request) => Iterator<unknown>): void {
  let pieces: Iterator<unknown> | null = null;
  parentPort?.on('message', (request: Request | null) => {
    try {
      if (request !== null) pieces = work(request);
      const next = pieces?.next();
      const isDone = next === undefined || next.done === true;
      if (isDone) pieces = null;
      parentPort?.postMessage(isDone ? { done: true } : { piece: next.value });
    } catch (error) {
      pieces = null;
      // Any other error ends the thread.
      if (!(error instanceof MirrorError)) throw error;
      parentPort?.postMessage({ code: error.code, message: error.message });
    }
  });
}
