import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { keys } from '../../src/state/keys.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { Death, Order, Outcome, WorkerPlaces } from './orders.ts';
import type { Timetable } from './timetable.ts';
import type { TakenJob, VirtualQueue } from './virtual-queue.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';
import type { World } from './world.ts';

const SECOND_MS = 1_000;
const WORKERS = 2;
/** Share of the jobs that ring at two workers at once, as a job does whose lock ran out under a living one. */
const TWICE = 0.04;
/** Maximum number of commands in a reminder's check or a read before a kill. */
const MOST_COMMANDS = 60;
const TRY_AGAIN_MS = 5 * SECOND_MS;

/** What a crew works with. */
export interface CrewParts {
  script: string;
  places: WorkerPlaces;
  world: World;
  timetable: Timetable;
  queue: VirtualQueue;
  redis: RedisClient;
  random: () => number;
}

/** Work that was at hand when its worker died. */
interface Lost {
  job: TakenJob | null;
  tenant: string;
}

/** Two worker processes that die and are started again. */
export class Crew {
  killed = 0;
  readonly atHand = new Set<string>();
  readonly failures = new Map<string, number>();
  readonly #parts: CrewParts;
  #workers: WorkerProcess[] = [];
  #isDown = false;
  #turn = 0;
  #lost: Lost[] = [];

  private constructor(parts: CrewParts) {
    this.#parts = parts;
  }

  /** Starts the workers. */
  static async start(parts: CrewParts): Promise<Crew> {
    const crew = new Crew(parts);
    await crew.#fill();
    return crew;
  }

  get isUp(): boolean {
    return this.#living().length > 0;
  }

  /** Gives the order to the next worker. @returns null if the worker died during the order, or no worker is alive */
  async run(order: Order): Promise<Outcome | null> {
    const worker = this.#next();
    if (worker === undefined) return null;
    const outcome = await worker.run(order);
    if (outcome === null && order.work !== 'callback') this.#lost.push({ job: null, tenant: order.tenant });
    this.#note(outcome);
    return outcome;
  }

  /** Works on a job until it is ended, or leaves it to be found by others. */
  async remind(job: TakenJob): Promise<void> {
    const { world, queue, random } = this.#parts;
    const { tenant, reminder } = job;
    const order: Order = { now: world.now, tenant, work: 'remind', reminder };
    const worker = this.#next();
    const other = random() < TWICE ? this.#living().find((each) => each !== worker) : undefined;
    const [outcome, second] = await Promise.all([worker?.run(order) ?? null, other?.run(order)]);
    if (outcome === null || second === null) this.atHand.add(`${tenant} ${reminder}`);
    if (outcome === null) return void this.#lost.push({ job, tenant });
    if (second === null) this.#lost.push({ job: null, tenant });
    this.#note(outcome);
    if (outcome.failed === null) return queue.end(job);
    await queue.again(job, world.now + TRY_AGAIN_MS, true);
  }

  /** Chooses the kill point of the next worker. */
  doom(): void {
    const { random } = this.#parts;
    const during = random() < 0.5 ? 'redis' : 'send';
    const coin = random() < 0.5;
    const commands = 1 + Math.floor(random() * MOST_COMMANDS);
    const death: Death = during === 'redis' ? { during, commands, isCarriedOut: coin } : { during, isHandedOver: coin };
    this.#next()?.dieAt(death);
  }

  /** Repeats dead workers' jobs when their locks expire, and starts replacements. */
  async bury(): Promise<void> {
    const { world, timetable, queue, random } = this.#parts;
    const dead = this.#workers.length - this.#living().length;
    const lost = this.#lost.splice(0);
    if (dead > 0) {
      this.killed += dead;
      this.#workers = this.#living();
      timetable.add(world.now + Math.round(5 + random() * 120) * SECOND_MS, () => this.#fill());
    }
    for (const { job, tenant } of lost) {
      const foundAt = world.now + Math.round(30 + random() * 30) * SECOND_MS;
      if (job !== null) timetable.add(foundAt, () => void queue.again(job, foundAt, false));
      await this.#letGo(tenant);
    }
  }

  /** Nothing runs any more. @param isKill it ends by a kill, which counts */
  async goDown(isKill: boolean): Promise<void> {
    this.#isDown = true;
    for (const [index, worker] of this.#workers.entries()) {
      if (isKill && index === 0) await worker.kill();
      else await worker.end();
    }
    this.#workers = [];
    if (isKill) this.killed += 1;
  }

  /** The workers are started again. */
  async comeUp(): Promise<void> {
    this.#isDown = false;
    await this.#fill();
  }

  async close(): Promise<void> {
    this.#isDown = true;
    for (const worker of this.#living()) await worker.end();
  }

  async #fill(): Promise<void> {
    if (this.#isDown) return;
    const { script, places } = this.#parts;
    this.#workers = this.#living();
    while (this.#workers.length < WORKERS) this.#workers.push(await startWorkerProcess(script, places));
  }

  #living(): WorkerProcess[] {
    return this.#workers.filter(({ isAlive }) => isAlive);
  }

  #next(): WorkerProcess | undefined {
    const living = this.#living();
    this.#turn += 1;
    return living[this.#turn % Math.max(1, living.length)];
  }

  #note(outcome: Outcome | null): void {
    if (outcome?.failed == null) return;
    this.failures.set(outcome.failed, (this.failures.get(outcome.failed) ?? 0) + 1);
  }

  /** Expires claims and leases on the simulated clock, because Redis uses its own clock. */
  async #letGo(tenant: string): Promise<void> {
    const { world, timetable, redis } = this.#parts;
    for (const pattern of [reminderKeys.reminderClaim(tenant, '*'), keys.lease(tenant, '*')]) {
      for (const key of await redis.keys(pattern)) {
        const [holder, remainingMs] = [await redis.get(key), await redis.pttl(key)];
        timetable.add(world.now + Math.max(0, remainingMs), async () => {
          if ((await redis.get(key)) === holder) await redis.del(key);
        });
      }
    }
  }
}
