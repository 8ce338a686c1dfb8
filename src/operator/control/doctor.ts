import { asMirrorError, isRedisFault, MirrorError } from '../../core/model/errors.ts';
import { connectionSubject, type Problem, subjectOf } from '../../core/model/problems.ts';
import { sentenceOfRemark } from '../../core/model/snapshots.ts';
import type { StateCounterView } from '../../core/model/state-schemas.ts';
import { withSimilarIds } from '../../core/model/text.ts';
import { type Clock, DAY_MS, type Instant, SECOND_MS } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import { unlisted } from '../../domain/reading-gaps.ts';
import type { RunReport } from '../../domain/runs.ts';
import type { TargetTable } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import { hostsIn, type NamedHost } from '../../settings/outbound-checks.ts';
import { closingOf, type OpenSecret } from '../../settings/secret-reference.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import {
  type Finding,
  findingOf,
  found,
  invalidTenantFinding,
  isResting,
  ok,
  restingFindings,
  targetFinding,
} from './findings.ts';
import { type Installation, requireTenant, settingsLocation } from './installation.ts';
import { isLoss, lostLogins, textsOfDirectory } from './installation-problems.ts';
import { status } from './status.ts';

/** Checks of Redis and related state. */
export interface StateProbe {
  /** Checks that Redis persists data. @throws MirrorError as `checkRedis` */
  check(signal: AbortSignal): Promise<void>;
  /** Checks that the Redis user may run every required command. @throws MirrorError `settings`, code `redis-rights` */
  requireRights(): Promise<void>;
  /** Writes a key. @throws an error of Redis that refuses writes */
  requireWrites(): Promise<void>;
  /** Checks that the state belongs to the present identity key. @throws MirrorError `settings`, code `identity-key-changed` */
  requireIdentity(): Promise<void>;
  /** Returns an error for each connection of a tenant whose tokens cannot be decrypted. */
  unopened(tenant: string): Promise<MirrorError[]>;
  /** Time of the Redis server. */
  time(): Promise<Instant>;
  view(): Promise<StateCounterView>;
  /** Hosts in the settings. */
  hosts(): NamedHost[];
  /** True if browsers use https, and thus a reverse proxy, but the settings list no trusted proxies. */
  lacksTrustedProxies(): boolean;
  /** Secret files that every user of the host can read, by owner in the configuration; null: the settings. */
  openSecrets(tenant: string | null): OpenSecret[];
  /** Resolves a host name as connections do; null if a proxy resolves names. @throws Error with a `code` of Node's `dns` */
  resolve: ((host: string) => Promise<void>) | null;
}

/** A Redis on a different host of one site answers in about 1 ms. A cycle sends about 80 commands. Project choice. */
const SLOW_MS = 20;
const PINGS = 9;
/** Records of 7 days show the clinic's time format. Project choice. */
const LOOKED_AT_MS = 7 * DAY_MS;
/** Tokens and time windows depend on clocks. Authorization servers tolerate a minute. Project choice. */
const CLOCKS_APART_MS = 5 * SECOND_MS;

/**
 * Checks every dependency with read-only requests, in the order in which faults must be fixed.
 * @param options.only one tenant; default: all
 */
export async function* examine(
  installation: Installation,
  state: StateProbe,
  { only }: { only?: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const redis = await redisFinding(state, signal);
  yield redis;
  // All other checks need a Redis that works.
  if (isRedisFault(redis.code ?? '')) return;
  yield await found({ tenant: null, subject: 'keys' }, () => state.requireIdentity(), message('doctor.identity'));
  yield await sealingFinding(state, only === undefined ? [...installation.tenants.keys()] : [only]);
  const stateView = await state.view();
  const directory = directoryFinding(stateView);
  yield directory;
  const clock = await clockFinding(installation, state);
  yield clock;
  const names = nameChecker(state);
  yield* openSecretFindings(state, null);
  if (state.lacksTrustedProxies()) yield UNTRUSTED_PROXY;
  yield* names(null, state.hosts(), 'clinic-mirror.yaml');
  const view = await status(installation, only);
  const isLost = view.problems.some(({ tenants, code }) => tenants !== undefined && isLoss(code));
  if (!isLost) yield* lossFindings(stateView, installation.clock());
  const reported = new Set([redis.code, directory.code, clock.code]);
  yield* view.problems.filter(({ tenant, code }) => tenant === null && !reported.has(code)).map(findingOf);
  const clinics: Clinics = new Map();
  for (const tenant of only === undefined ? installation.tenants.keys() : [only]) {
    const problems = view.problems.filter((problem) => problem.tenant === tenant);
    const open = requireTenant(installation, tenant);
    yield* openSecretFindings(state, tenant);
    const settings = settingsLocation(installation, tenant);
    if (!open.configuration.paused) yield* names(tenant, hostsIn(open.configuration), settings);
    yield* examineTenant(open, { problems, clinics, settings, lost: lostLogins(view, tenant) }, signal);
    if (problems.some(isResting)) yield* restingFindings(await status(installation, tenant));
  }
  const invalidIds = new Set(view.unusable.map(({ tenant }) => tenant));
  yield* installation.unusable.flatMap(({ id, faults }) =>
    invalidIds.has(id) ? [invalidTenantFinding(id, faults)] : [],
  );
}

const UNTRUSTED_PROXY: Finding = {
  ...{ tenant: null, subject: 'reverse proxy', code: 'proxy-not-trusted' },
  result: 'warning',
  what: message('proxy-not-trusted'),
  next: message('proxy-not-trusted.remedy'),
};

async function redisFinding(state: StateProbe, signal: AbortSignal): Promise<Finding> {
  const checked = await found(
    { tenant: null, subject: 'Redis' },
    async () => {
      await state.check(signal);
      await state.requireRights();
      await state.requireWrites();
    },
    message('doctor.redis'),
  );
  if (checked.result === 'problem') return checked;
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping += 1) {
    const begunAt = performance.now();
    await state.time();
    times.push(performance.now() - begunAt);
  }
  const medianMs = times.sort((one, other) => one - other)[Math.floor(PINGS / 2)] ?? 0;
  const what = message('doctor.redis-time', { well: checked.what, ms: medianMs.toFixed(1) });
  if (medianMs <= SLOW_MS) return { ...checked, what };
  return { ...checked, result: 'problem', code: 'redis-slow', what, next: message('redis-slow.remedy') };
}

/** Reports changed encryption keys once for all connections. Otherwise each connection would be reported as requiring a new grant. */
async function sealingFinding(state: StateProbe, tenants: readonly string[]): Promise<Finding> {
  const subject = 'sealing keys';
  const errors: MirrorError[] = [];
  for (const tenant of tenants) errors.push(...(await state.unopened(tenant)));
  const [first] = errors;
  if (first === undefined) return ok(null, subject, message('doctor.sealing'));
  const what = message('sealed-unopened', { count: errors.length, cause: first.texts.message });
  const next = first.texts.remedy ?? message('sealed-unopened.remedy');
  return { tenant: null, subject, result: 'problem', what, code: first.code, next };
}

/** The daemon continues, but other users of the host could read the secret. */
function openSecretFindings(state: StateProbe, tenant: string | null): Finding[] {
  return state.openSecrets(tenant).map((secret) => {
    const what = message('secret-readable', { place: secret.at });
    return { tenant, subject: 'secrets', result: 'warning', what, code: 'secret-readable', next: closingOf(secret) };
  });
}

/** Resolves each host name of a file once. Reports unknown names; for the settings, also reports success. */
function nameChecker({ resolve }: StateProbe) {
  const asked = new Map<string, Promise<string | null>>();
  const why = (host: string) => {
    const answer = asked.get(host) ?? lookUp(resolve, host);
    asked.set(host, answer);
    return answer;
  };
  return async function* (
    tenant: string | null,
    servers: readonly NamedHost[],
    settings: string,
  ): AsyncGenerator<Finding> {
    const subject = 'DNS';
    const byHost = new Map(servers.map((server) => [server.host, server]));
    const unknown: Finding[] = [];
    for (const { host, at } of byHost.values()) {
      const code = await why(host);
      if (code === null) continue;
      const isUnknown = code === 'ENOTFOUND';
      const what = message(isUnknown ? 'name-unknown' : 'name-unresolved', { host, place: at });
      const next = isUnknown
        ? message('settings.correct-or-dns', { part: at, place: settings })
        : message('name-unresolved.remedy');
      unknown.push({ tenant, subject, result: 'problem', what, code: 'name-unknown', next });
    }
    yield* unknown;
    if (tenant !== null || unknown.length > 0) return;
    if (resolve === null) yield { ...ok(null, subject, message('doctor.names-by-proxy')), result: 'not-asked' };
    else yield ok(null, subject, message('doctor.names', { count: byHost.size }));
  };
}

/** @returns the code of Node's `dns` for an unknown name; null for a resolved name */
async function lookUp(resolve: StateProbe['resolve'], host: string): Promise<string | null> {
  try {
    await resolve?.(host);
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

function directoryFinding(view: StateCounterView): Finding {
  const { directory } = view;
  const subject = 'data directory';
  if (directory === 'kept') return ok(null, subject, message('doctor.data-directory'));
  const about = { tenant: null, subject, result: 'problem' } as const;
  if (directory === 'none') {
    return {
      ...{ ...about, code: 'no-data-directory' },
      ...{ what: message('no-data-directory'), next: message('no-data-directory.remedy') },
    };
  }
  const { sentence: what, next } = textsOfDirectory(view);
  return { ...about, code: 'data-directory-failed', what, next };
}

/** Reports a Redis that was older than data stored outside Redis. After a day, only `status` shows the loss. */
function lossFindings({ wentBackAt, writesLostAt }: StateCounterView, now: Instant): Finding[] {
  const noticedAt = Math.max(wentBackAt ?? 0, writesLostAt ?? 0);
  if (noticedAt < now - DAY_MS) return [];
  const time = `${new Date(noticedAt).toISOString().slice(0, 16)}Z`;
  const what = message('state-went-back', { time });
  const next = message('state-went-back.remedy');
  return [{ tenant: null, subject: 'state', result: 'warning', what, code: 'state-went-back', next }];
}

async function clockFinding(installation: Installation, state: StateProbe): Promise<Finding> {
  const before = installation.clock();
  const theirs = await state.time();
  const apartMs = theirs - (before + installation.clock()) / 2;
  const what = message('clock-differs', { seconds: (Math.abs(apartMs) / SECOND_MS).toFixed(1) });
  if (Math.abs(apartMs) <= CLOCKS_APART_MS) return ok(null, 'clock', what);
  const next = message('clock-differs.remedy');
  return { tenant: null, subject: 'clock', result: 'problem', what, code: 'clock-differs', next };
}

/** Members of a tenant that the doctor checks. */
interface ExaminedTenant {
  id: string;
  clinic: ClinicSource;
  clock: Clock;
  configuration: { paused: boolean; clinic: { client: string } };
  /** Null without configured reminders. */
  reminders: { rules: { rules: ReadonlyMap<string, NamedIds> } } | null;
  runs: { list(limit: number): Promise<RunReport[]> };
  targets: ReadonlyMap<string, OpenTarget>;
  targetStore: TargetTable;
}

async function* examineTenant(
  tenant: ExaminedTenant,
  about: { problems: readonly Problem[]; clinics: Clinics; settings: string; lost: readonly string[] },
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { id, configuration, targets } = tenant;
  const { problems, clinics, settings, lost } = about;
  if (configuration.paused) {
    yield { ...ok(id, 'clinic', message('doctor.paused')), result: 'not-asked' };
    return;
  }
  const logins = problems.filter((problem) => subjectOf(problem).kind === 'login' && !isResting(problem));
  yield* logins.map(findingOf);
  const ended = new Set([
    ...logins
      .filter(({ code, breaksAt }) => code !== 'scope-missing' && breaksAt === null)
      .map(({ subject }) => subject),
    ...lost,
  ]);
  const notAsked = (subject: string, login: string): Finding => {
    return { ...ok(id, subject, message('doctor.asked-later', { login })), result: 'not-asked' };
  };
  let catalogue: Catalogue | null = null;
  if (ended.has('login clinic')) yield notAsked('clinic', 'the clinic');
  else {
    const addressIn = `clinicClients.${configuration.clinic.client}.baseUrl in clinic-mirror.yaml`;
    yield await found(
      { tenant: id, subject: 'clinic', addressIn },
      async () => {
        const clinicId = await tenant.clinic.tenantId(signal);
        recordClinic(clinics, id, { client: configuration.clinic.client, clinicId });
        catalogue = await catalogueOf(tenant, signal);
      },
      () => message('doctor.agendas', { count: catalogue?.agendas.size ?? 0 }),
    );
    if (catalogue !== null) yield* remarkFindings(tenant, signal);
    for (const [rule, named] of tenant.reminders?.rules.rules ?? []) {
      if (catalogue !== null)
        yield* unlistedFindings({ tenant: id, subject: `reminders ${rule}`, settings }, [named], catalogue);
    }
  }
  for (const target of targets.values()) {
    const { connection, paused } = target.configuration;
    if (paused) yield { ...ok(id, `target ${target.id}`, message('doctor.paused')), result: 'not-asked' };
    else if (ended.has(connectionSubject(connection))) yield notAsked(`target ${target.id}`, connection);
    else yield await targetFinding(tenant, target, settings, signal);
    const { agendas, treatments, labels } = target.configuration;
    if (catalogue !== null && !paused) {
      yield* unlistedFindings(
        { tenant: id, subject: `target ${target.id}`, settings },
        [{ agendas, treatments }, ...labels],
        catalogue,
      );
    }
  }
  yield* problems.filter(isAskedOfNobody).map(findingOf);
}

/** Profile remarks from records of the next days and of the last cycle. The daemon continues meanwhile. */
async function* remarkFindings(
  { id, clinic, clock, runs }: ExaminedTenant,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const [last] = await runs.list(1);
  const now = clock();
  await clinic
    .locations(signal)
    .then(() => clinic.readAppointments({ agendaIds: null, window: { fromAt: now, toAt: now + LOOKED_AT_MS } }, signal))
    // Read errors are reported by the clinic finding, or by the last cycle.
    .catch(() => signal.throwIfAborted());
  const seen = clinic.remarks();
  const isSeen = (one: (typeof seen)[number]) => seen.some(({ list, path }) => list === one.list && path === one.path);
  for (const remark of [...seen, ...(last?.remarks ?? []).filter((one) => !isSeen(one))]) {
    const what = sentenceOfRemark(remark);
    yield {
      tenant: id,
      subject: 'clinic',
      result: 'warning',
      what,
      code: remark.code,
      next: message('remark.remedy'),
    };
  }
}

/** First tenant of each clinic, by clinic client and id. */
type Clinics = Map<string, string>;

/** Without a configured clinic id, only the connection identifies the clinic. @throws MirrorError `settings`, code `clinic-twice` */
function recordClinic(clinics: Clinics, id: string, { client, clinicId }: { client: string; clinicId: string }): void {
  const clinic = JSON.stringify([client, clinicId]);
  const first = clinics.get(clinic);
  clinics.set(clinic, first ?? id);
  if (first === undefined) return;
  throw new MirrorError(message('clinic-twice', { first, clinicId }), {
    actor: 'settings',
    code: 'clinic-twice',
    retry: 'never',
    remedy: message('clinic-twice.remedy'),
  });
}

/** Clinic lists in which configured ids are found; null if the connection may not read the list. */
interface Catalogue {
  agendas: ReadonlyMap<string, { name: string }>;
  treatments: ReadonlyMap<string, { name: string }> | null;
}

async function catalogueOf({ clinic, targets, reminders }: ExaminedTenant, signal: AbortSignal): Promise<Catalogue> {
  const byId = (rows: readonly { id: string; name: string }[]) => new Map(rows.map((row) => [row.id, row]));
  const agendas = byId(await clinic.agendas(signal));
  const named = [...targets.values()].flatMap(({ configuration }) => [configuration, ...configuration.labels]);
  const isAsked = [...named, ...(reminders?.rules.rules.values() ?? [])].some(
    ({ treatments = 'all' }) => treatments !== 'all',
  );
  if (!isAsked) return { agendas, treatments: null };
  // A missing permission has a separate finding.
  const treatments = await clinic.treatments(signal).then(byId, (error: unknown) => {
    if (asMirrorError(error).actor === 'authorization') return null;
    throw error;
  });
  return { agendas, treatments };
}

/** Ids in a part of the tenant file; absent means all. */
type Ids = 'all' | readonly string[] | undefined;

/** Configured ids of one part of the tenant file. */
interface NamedIds {
  agendas?: Ids;
  treatments?: Ids;
}

/** Reports configured ids that the clinic does not list. */
function* unlistedFindings(
  { tenant, subject, settings }: { tenant: string; subject: string; settings: string },
  named: readonly NamedIds[],
  catalogue: Catalogue,
): Generator<Finding> {
  for (const part of ['agenda', 'treatment'] as const) {
    const list = catalogue[`${part}s`];
    const wanted = new Set(
      named.flatMap((each) => ((each[`${part}s`] ?? 'all') === 'all' ? [] : (each[`${part}s`] ?? []))),
    );
    const unknown = list === null ? null : unlisted([...wanted], list);
    if (unknown === null) continue;
    const code = part === 'agenda' ? 'agenda-unknown' : 'treatment-unknown';
    const ids = withSimilarIds(unknown.what.join(', '), unknown.soon);
    const next = message('settings.correct', { part: `${part}s`, place: settings });
    yield { tenant, subject, result: 'problem', what: message(code, { ids }), code, next };
  }
}

/** Problems that no check of the doctor would find. */
function isAskedOfNobody(problem: Problem): boolean {
  const { kind } = subjectOf(problem);
  if (kind === 'target') return problem.breaksAt !== null;
  return ['all-reminders', 'reminders', 'triggers', 'configuration', 'state', 'cycles'].includes(kind);
}
