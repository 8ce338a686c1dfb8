import { seededRandom } from '../../sandbox/kit/random.ts';
import { createReminderLedger } from '../../src/features/reminders/store.ts';
import { REMINDERS_PATH } from '../../src/operator/http-server/answers.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { serveClinic } from './clinic-server.ts';
import { Crew } from './crew.ts';
import { instantOf } from './local-time.ts';
import type { Circumstances, Span } from './missed.ts';
import { IDENTITY_KEY, PUBLIC_URL } from './open-worker.ts';
import type { Order } from './orders.ts';
import { type Failures, type Receivers, startReceivers } from './receivers.ts';
import { type Deed, drawScenario, type Scenario } from './scenario.ts';
import { createTimetable, type Timetable } from './timetable.ts';
import { openVirtualQueue, type VirtualQueue } from './virtual-queue.ts';
import { carryOut, createWorld, type World } from './world.ts';
import { TENANTS } from './world-plan.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Jobs that are worked on at once, as the daemon does. */
const CONCURRENCY = 8;

/** What a fortnight is run with. */
export interface FortnightOptions {
  seed: number;
  appointments: number;
  /** `2026-03-25`. */
  firstDay: string;
  /** 14, or fewer for a shorter run; at least 5. */
  days: number;
  /** Number of killed workers; one is killed at the start of the downtime. */
  kills: number;
  failures: Failures;
  /** Interval between two reads of a clinic. */
  pullEveryMs: number;
  redisUrl: string;
  /** A connection to it, for the simulation's own use. */
  redis: RedisClient;
  /** File of the worker. */
  script: string;
  onDay(day: number): void;
}

/** What a fortnight left behind. */
export interface FortnightRun {
  history: World['history'];
  circumstances: Circumstances;
  killed: number;
  /** Reminders that a worker had at hand when it was killed. */
  atHand: ReadonlySet<string>;
  /** Orders that failed, by their words. */
  failures: ReadonlyMap<string, number>;
}

/** Runs two weeks on a simulated clock, with worker processes that are killed, against real receivers and a real Redis. */
export async function runFortnight(options: FortnightOptions): Promise<FortnightRun> {
  const scenario = drawScenario(options.seed, options);
  const world = createWorld(scenario.fromAt);
  await using opened = new AsyncDisposableStack();
  const clinic = await serveClinic(world);
  opened.defer(() => clinic.close());
  const receivers = await startReceivers(world, options.seed, options.failures);
  opened.defer(async () => void (await receivers.close()));
  const { sms, mail, hookUrl } = receivers;
  const places = {
    redisUrl: options.redisUrl,
    clinicUrl: clinic.url,
    sms: { url: sms.url, accountSid: sms.accountSid, authToken: sms.authToken, from: sms.from },
    mail: { host: '127.0.0.1', port: mail.port },
    hookUrl,
  };
  const timetable = createTimetable();
  const queue = openVirtualQueue(options.redis);
  const random = seededRandom(options.seed + 7);
  const crew = await Crew.start({
    script: options.script,
    places,
    world,
    timetable,
    queue,
    random,
    redis: options.redis,
  });
  opened.defer(() => crew.close());
  const fortnight = new Fortnight(world, crew, receivers, timetable, {
    random,
    pullEveryMs: options.pullEveryMs,
    redis: options.redis,
  });
  fortnight.lay(scenario, options.kills);
  let day = -1;
  while (world.now < scenario.toAt) {
    const today = Math.floor((world.now - scenario.fromAt) / DAY_MS);
    if (today > day) options.onDay(today);
    day = today;
    await fortnight.step(CONCURRENCY, queue, scenario.toAt);
  }
  const { down, away, readings } = fortnight;
  return {
    history: world.history,
    circumstances: { down, away, readings },
    killed: crew.killed,
    atHand: crew.atHand,
    failures: crew.failures,
  };
}

class Fortnight {
  readonly down: Span[] = [];
  readonly away: Span[] = [];
  readonly readings = new Map<string, number[]>(TENANTS.map((tenant) => [tenant, []]));
  readonly #world: World;
  readonly #crew: Crew;
  readonly #receivers: Receivers;
  readonly #timetable: Timetable;
  readonly #random: () => number;
  readonly #pullEveryMs: number;
  readonly #redis: RedisClient;
  /** Orders of the step at hand: pulls and reminders of one moment run at once. */
  #pulls: string[] = [];
  /** Tenants that were read as a whole in the step at hand. */
  readonly #read: string[] = [];

  constructor(
    world: World,
    crew: Crew,
    receivers: Receivers,
    timetable: Timetable,
    { random, pullEveryMs, redis }: { random: () => number; pullEveryMs: number; redis: RedisClient },
  ) {
    this.#redis = redis;
    this.#pullEveryMs = pullEveryMs;
    this.#world = world;
    this.#crew = crew;
    this.#receivers = receivers;
    this.#timetable = timetable;
    this.#random = random;
  }

  /** Puts everything that is known beforehand into the timetable. */
  lay({ deeds, fromAt, toAt, days }: Scenario, kills: number): void {
    for (const deed of deeds) this.#timetable.add(deed.at, () => this.#do(deed));
    for (const [index, tenant] of TENANTS.entries()) this.#pullAt(tenant, fromAt + index * 7 * MINUTE_MS);
    const onDay = (day: number, time: string) =>
      instantOf(new Date(fromAt + day * DAY_MS).toISOString().slice(0, 10), time, 'Europe/Rome');
    const span = (share: number, from: string, to: string): Span => {
      const day = Math.ceil(days * share);
      return { fromAt: onDay(day, from), toAt: onDay(day, to) };
    };
    this.#layAway(span(0.2, '17:40', '19:15'));
    this.#layDowntime(span(0.35, '16:30', '19:30'), kills > 0);
    this.#layAway(span(0.6, '17:55', '18:25'));
    for (let index = 1; index < kills; index += 1) {
      // Every other one strikes in the rush at six in the evening.
      const day = 1 + Math.floor(this.#random() * (days - 1));
      const at =
        index % 2 === 0
          ? onDay(day, '17:59')
          : Math.round(fromAt + DAY_MS + this.#random() * (toAt - fromAt - 2 * DAY_MS));
      this.#timetable.add(at, () => this.#crew.doom());
    }
  }

  /** The next moment in which something happens, and everything of that moment. */
  async step(concurrency: number, queue: VirtualQueue, toAt: number): Promise<void> {
    const world = this.#world;
    const ringAt = this.#crew.isUp ? await queue.nextAt() : null;
    const nextAt = Math.min(ringAt ?? toAt, this.#timetable.nextAt() ?? toAt, toAt);
    world.now = Math.max(world.now, nextAt);
    // Of one moment, what the clinic does comes first or last, by chance.
    const isWorkFirst = ringAt !== null && ringAt <= world.now && this.#random() < 0.5;
    if (!isWorkFirst) await this.#happen();
    await this.#work(queue, concurrency);
  }

  async #happen(): Promise<void> {
    for (
      let next = this.#timetable.take(this.#world.now);
      next !== null;
      next = this.#timetable.take(this.#world.now)
    ) {
      await next();
    }
  }

  async #work(queue: VirtualQueue, concurrency: number): Promise<void> {
    const pulls = this.#pulls.splice(0);
    const jobs = this.#crew.isUp ? await queue.take(this.#world.now, concurrency) : [];
    if (pulls.length + jobs.length === 0) return;
    this.#failure(pulls.length, jobs.length);
    const isListWhole = this.#world.nextList === 'whole';
    const work = [
      ...pulls.map((tenant) => this.#pull(tenant, isListWhole)),
      ...jobs.map((job) => this.#crew.remind(job)),
    ];
    await Promise.all(work);
    this.#receivers.collect();
    for (const tenant of this.#read.splice(0)) await this.#list(tenant);
    await this.#crew.bury();
    this.#unsubscribe();
  }

  /** Now and then a list that is not whole, or an answer that takes its time. */
  #failure(pulls: number, jobs: number): void {
    const world = this.#world;
    world.nextList = 'whole';
    if (pulls === 1 && this.#random() < 0.06)
      world.nextList = this.#random() < 0.5 ? 'truncated' : 'truncated-silently';
    // Only while no other worker is active, because all workers share the simulated time.
    if (pulls === 0 && jobs === 1 && this.#random() < 0.05)
      world.slowAnswersMs.push(Math.round(this.#random() * 25) * SECOND_MS);
  }

  #pullAt(tenant: string, at: number): void {
    this.#timetable.add(at, () => {
      if (this.#crew.isUp) this.#pulls.push(tenant);
      this.#pullAt(tenant, at + this.#pullEveryMs);
    });
  }

  async #pull(tenant: string, isListWhole: boolean): Promise<void> {
    const at = this.#world.now;
    const outcome = await this.#crew.run({ now: at, tenant, work: 'pull' });
    if (outcome?.isRead !== true || !isListWhole) return;
    this.readings.get(tenant)?.push(at);
    this.#read.push(tenant);
  }

  /** What the product shows of a tenant's patients, once all work of this moment is done. */
  async #list(tenant: string): Promise<void> {
    const at = this.#world.now;
    const wrong = await createReminderLedger(this.#redis, tenant, {
      retentionMs: DAY_MS,
      sealer: createProofSealer(IDENTITY_KEY, tenant),
    }).wrong(at);
    const names = (those: typeof wrong) => those.map(({ appointmentId, channel }) => `${appointmentId} ${channel}`);
    const strangers = names(wrong.filter(({ reason }) => reason === 'other-patient'));
    this.#world.history.push({ at, kind: 'listing', tenant, listed: names(wrong), strangers });
  }

  async #do(deed: Deed): Promise<void> {
    if (deed.do === 'read') {
      if (this.#crew.isUp && !this.#pulls.includes(deed.tenant)) this.#pulls.push(deed.tenant);
      return;
    }
    if (deed.do !== 'reply') return carryOut(this.#world, deed);
    const patient = this.#world.patients.get(deed.patientId);
    if (patient?.phone == null) return;
    const { phone, tenant } = patient;
    const channel = 'text';
    const { url, ...request } = this.#receivers.sms.reply(
      phone,
      deed.word,
      `${PUBLIC_URL}${REMINDERS_PATH}/${tenant}/${channel}`,
    );
    // The gateway itself heeds STOP from this moment on, whether we hear of it or not.
    if (deed.word === 'STOP') this.#world.history.push({ at: this.#world.now, kind: 'opt-out', address: phone });
    await this.#callBack({ tenant, channel, query: new URL(url).search, ...request }, phone);
  }

  /** Occasionally a patient presses the mail program's unsubscribe button. */
  #unsubscribe(): void {
    for (const [address, reminder] of this.#receivers.unsubscribable) {
      if (this.#random() >= 0.02) continue;
      const patient = [...this.#world.patients.values()].find(({ email }) => email === address);
      if (patient === undefined) continue;
      const order = { tenant: patient.tenant, channel: 'mail', query: `?reminder=${reminder}`, headers: {} };
      const body = 'List-Unsubscribe=One-Click';
      const at = this.#world.now + Math.round(this.#random() * 20 * HOUR_MS);
      this.#timetable.add(at, () => this.#callBack({ ...order, body }, address));
    }
    this.#receivers.unsubscribable.clear();
  }

  /** An opt-out is effective when it is answered; an unanswered callback is repeated. */
  async #callBack(
    callback: Omit<Extract<Order, { work: 'callback' }>, 'now' | 'work'>,
    address: string,
  ): Promise<void> {
    const { now, history } = this.#world;
    const outcome = await this.#crew.run({ ...callback, now, work: 'callback' });
    await this.#crew.bury();
    if (outcome?.status === 204) history.push({ at: now, kind: 'opt-out', address });
    else this.#timetable.add(now + 10 * MINUTE_MS, () => this.#callBack(callback, address));
  }

  #layDowntime(span: Span, isKill: boolean): void {
    this.down.push(span);
    this.#timetable.add(span.fromAt, () => this.#crew.goDown(isKill));
    this.#timetable.add(span.toAt, () => this.#crew.comeUp());
  }

  #setAway(isAway: boolean): void {
    this.#world.isAway = isAway;
  }

  #layAway(span: Span): void {
    this.away.push(span);
    this.#timetable.add(span.fromAt, () => this.#setAway(true));
    this.#timetable.add(span.toAt, () => this.#setAway(false));
  }
}
