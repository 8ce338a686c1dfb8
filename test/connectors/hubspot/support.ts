import { onTestFinished } from 'vitest';
import {
  type HubSpotSandbox,
  type HubSpotSandboxOptions,
  type ObjectTypeName,
  type RecordResource,
  startHubSpotSandbox,
} from '../../../sandbox/hubspot/index.ts';
import type { Authorizer, Connector } from '../../../src/connectors/connector.ts';
import { hubspot } from '../../../src/connectors/hubspot/index.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { type Logger, silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem, MappedProperty, PropertyValue, StreamName } from '../../../src/core/model/items.ts';
import type { Operation, Outcome, RemoteItem } from '../../../src/core/model/operations.ts';
import { crmForm } from '../../../src/domain/item-forms.ts';
import { createTargetIdentity, type TargetIdentity } from '../../../src/engine/identity.ts';
import { containerOf } from '../../support/container-of.ts';

export const KEY = 'clinic_mirror_key';
export const STAMP = 'clinic_mirror_stamp';
/** 10:15 in Zurich, the account's zone, in winter. */
const NOW = Date.parse('2026-11-20T09:15:00Z');
export const NO_SIGNAL = new AbortController().signal;

export const CONTACT: readonly MappedProperty[] = [
  { name: 'firstname', kind: 'text' },
  { name: 'lastname', kind: 'text' },
  { name: 'email', kind: 'text' },
  { name: 'phone', kind: 'text' },
];
const MEETING: readonly MappedProperty[] = [
  { name: 'hs_meeting_title', kind: 'text' },
  { name: 'hs_meeting_end_time', kind: 'instant' },
  { name: 'hs_meeting_outcome', kind: 'text' },
];
const DEAL: readonly MappedProperty[] = [
  { name: 'dealname', kind: 'text' },
  { name: 'amount', kind: 'number' },
  { name: 'closedate', kind: 'date' },
];
const DEFAULTS = { patients: CONTACT, appointments: MEETING, invoices: DEAL } as const;

type Write = Exclude<Operation<CrmItem>, { kind: 'delete' }>;
export type Written = Extract<Outcome<CrmItem>, { result: 'written' }>;

/** How a target is opened; what is absent is as usual. */
export interface TargetChoice {
  stream?: StreamName;
  properties?: readonly MappedProperty[];
  settings?: object;
  token?: string;
  authorizer?: Authorizer;
  timeoutMs?: number;
  log?: Logger;
}

/** A target and the words of its tests. */
export interface Target {
  connector: Connector<CrmItem>;
  identity: TargetIdentity;
  container: string;
  create(recordId: string, item: CrmItem, epoch?: number): Write;
  update(recordId: string, item: CrmItem, remoteId?: string | null): Write;
  remove(recordId: string, remoteId?: string | null, erase?: boolean): Operation<CrmItem>;
  apply(...operations: Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]>;
  /** Applies and expects each to be written. */
  write(...operations: Write[]): Promise<Written[]>;
  readAll(window?: { fromAt: number; toAt: number } | null): Promise<RemoteItem<CrmItem>[]>;
}

/** One account, and targets in it. */
export interface World {
  sandbox: HubSpotSandbox;
  /** Epoch ms of sandbox and connector; may be set. */
  clock: { at: number };
  open(choice?: TargetChoice): Target;
  /** Opened and prepared. */
  target(choice?: TargetChoice): Promise<Target>;
  /** The live record of a record id. */
  record(target: Target, object: ObjectTypeName, recordId: string): RecordResource | undefined;
}

/** Starts an account that is closed after the test. Its clock is stopped, and its search shows all changes at once. */
export async function startWorld(options: HubSpotSandboxOptions = {}): Promise<World> {
  const clock = { at: NOW };
  const sandbox = await startHubSpotSandbox({
    now: () => clock.at,
    tenSecondlyPrivate: 100_000,
    searchesPerSecond: 1_000,
    searchLagMs: 0,
    ...options,
  });
  onTestFinished(() => sandbox.close());
  const open = (choice: TargetChoice = {}) => openTarget(sandbox, clock, choice);
  return {
    sandbox,
    clock,
    open,
    async target(choice) {
      const target = open(choice);
      target.container = await containerOf(target.connector, null, NO_SIGNAL);
      return target;
    },
    record: (target, object, recordId) => sandbox.recordBy(object, KEY, target.identity.key(recordId, 0)),
  };
}

function openTarget(sandbox: HubSpotSandbox, clock: { at: number }, choice: TargetChoice): Target {
  const { stream = 'patients', properties = DEFAULTS[stream], log = silentLogger, timeoutMs = 10_000 } = choice;
  const names = properties.map(({ name }) => name);
  const identity = createTargetIdentity(new Uint8Array(32).fill(7), 'clinic', stream, crmForm(stream, names));
  const connector = hubspot.open({
    ownerTag: identity.ownerTag,
    crm: { stream, properties },
    authorizer: choice.authorizer ?? tokenAuthorizer(choice.token ?? sandbox.issuePrivateToken()),
    http: createHttpClient({ userAgent: 'test', clock: () => clock.at, timeoutMs }),
    shared: new SharedState(),
    log,
    clock: () => clock.at,
    settings: hubspot.settingsSchema.parse({ apiUrl: sandbox.apiUrl, ...choice.settings }),
  });
  const named = (recordId: string, epoch = 0) => ({
    recordId,
    key: identity.key(recordId, epoch),
    sealedRecordId: identity.sealedRecordId(recordId),
    revision: 1,
  });
  const target: Target = {
    connector,
    identity,
    container: '',
    create: (recordId, item, epoch) => ({ kind: 'create', ...named(recordId, epoch), item }),
    update: (recordId, item, remoteId = null) => ({
      kind: 'update',
      ...named(recordId),
      item,
      versionTag: null,
      remoteId,
    }),
    remove: (recordId, remoteId = null, erase = false) => ({
      kind: 'delete',
      recordId,
      key: identity.key(recordId, 0),
      revision: 1,
      versionTag: null,
      remoteId,
      erase,
    }),
    apply: (...operations) => connector.apply(target.container, operations, NO_SIGNAL),
    async write(...operations) {
      return (await target.apply(...operations)).map(written);
    },
    readAll: async (window = null) =>
      (await Array.fromAsync(connector.read(target.container, window, NO_SIGNAL))).flat(),
  };
  return target;
}

/** A token that can't be renewed. */
export function tokenAuthorizer(token: string): Authorizer {
  const header = async () => `Bearer ${token}`;
  return { header, renew: header, quotaUser: null };
}

/** An item of a contact. */
export function contact(properties: Record<string, PropertyValue> = {}): CrmItem {
  const values = { firstname: 'Ada', lastname: 'Lind', email: null, phone: null, ...properties };
  return { properties: values, contactKey: null, startAt: 0 };
}

/** An item of a meeting. */
export function meeting(
  contactKey: string | null,
  startAt = Date.parse('2026-12-01T09:00:00Z'),
  title = 'Visit',
): CrmItem {
  return {
    properties: {
      hs_meeting_title: title,
      hs_meeting_end_time: new Date(startAt + 1_800_000).toISOString(),
      hs_meeting_outcome: 'SCHEDULED',
    },
    contactKey,
    startAt,
  };
}

/** Returns the written outcome, or throws its error. */
function written(outcome: Outcome<CrmItem> | undefined): Written {
  if (outcome?.result === 'failed') throw outcome.error;
  if (outcome?.result !== 'written') throw new Error(`not written: ${outcome?.result}`);
  return outcome;
}

/** The error of a failed operation. */
export function failure(outcome: Outcome<CrmItem> | undefined): MirrorError {
  if (outcome?.result !== 'failed') throw new Error(`not failed: ${outcome?.result}`);
  return outcome.error;
}

/** The error of a promise that is rejected. */
export async function rejection(promise: Promise<unknown>): Promise<MirrorError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof MirrorError)) throw new Error('it was not rejected with a MirrorError');
  return error;
}

/** One word for an outcome, as in `written created`. */
export function describeOutcome(outcome: Outcome<CrmItem>): string {
  if (outcome.result === 'failed') return `failed ${outcome.error.code}`;
  return 'effect' in outcome ? `${outcome.result} ${outcome.effect}` : outcome.result;
}
