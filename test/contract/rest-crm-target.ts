import { type FaultProxy, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import {
  type DialectName,
  type Field,
  type RestCrmSandbox,
  type StoredRecord,
  startRestCrmSandbox,
} from '../../sandbox/rest-crm/index.ts';
import type { Authorizer } from '../../src/connectors/connector.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { CrmItem, PropertyKind, PropertyValue, StreamName } from '../../src/core/model/items.ts';
import { SECOND_MS } from '../../src/core/model/time.ts';
import { containerOf } from '../support/container-of.ts';
import { paced } from '../support/pace.ts';
import type { ContractDialect, LaggingSearch, Worker } from './contract-target.ts';
import {
  CRM_ROLES,
  type CrmRole,
  type CrmServer,
  type CrmTarget,
  mappedProperties,
  type RemoteRow,
} from './crm-target.ts';
import { FOREIGN_STAMP, type Json, partsOfStamp, toNames, valuesOf } from './crm-wire.ts';

/** What is peculiar to one CRM among those that a shipped profile describes. */
export interface RestCrmSpeech {
  dialect: DialectName;
  profile: string;
  /** Fields that hold key and stamp. */
  key: string;
  stamp: string;
  /** Kinds of record, as the sandbox calls them. */
  kinds: Readonly<Record<StreamName, string>>;
  names: Readonly<Record<StreamName, CrmTarget['names']>>;
  /** Fields of contacts: the first name, and a list of the suite's. */
  firstName: string;
  list: string;
  login(token: string): Authorizer;
  /** Fields that a user must fill in besides a name. */
  least: Readonly<Record<StreamName, Json>>;
  /** An instant as the sandbox keeps it, in the form of our items. */
  instant(kept: string): string;
  contactIds(values: Json): string[];
  /** Fields of a record that belongs to a contact. */
  belonging(contactId: string, stream: StreamName): Json;
  /** Further properties that the CRM requires of every object. */
  constants: Readonly<Partial<Record<StreamName, CrmTarget['constants']>>>;
  faults(proxy: FaultProxy, stream: StreamName): ContractDialect<CrmItem>;
}

/** Opens a CRM behind the proxy, by its shipped profile; its clock advances one second with every lookup. */
export async function openRestCrmTarget(speech: RestCrmSpeech): Promise<CrmTarget & { sandbox: RestCrmSandbox }> {
  let time = Date.UTC(2026, 10, 20);
  const pass = (ms: number) => {
    time += ms;
  };
  const now = () => {
    pass(SECOND_MS);
    return time;
  };
  const sandbox = await startRestCrmSandbox({ dialect: speech.dialect, now });
  const proxy = await startFaultProxy(sandbox.url);
  for (const stream of ['patients', 'appointments', 'invoices'] as const) addFields(sandbox, speech, stream);
  const search: LaggingSearch = {
    pass,
    lag(byMs) {
      pass(byMs);
      sandbox.configure({ searchLagMs: byMs });
    },
  };
  return {
    ...(await openStream({ sandbox, proxy, search }, speech, 'patients')),
    sandbox,
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

const OF_ROLE: Readonly<Partial<Record<CrmRole, Partial<Field>>>> = {
  note: { maxLength: 65_535 },
  email: { form: 'email' },
  phone: { form: 'phone', maxLength: 36 },
};

function addFields(sandbox: RestCrmSandbox, { kinds, names, list }: RestCrmSpeech, stream: StreamName): void {
  const options = ['north', 'south'].map((value) => ({ value, label: value }));
  if (stream === 'patients') sandbox.addField(kinds[stream], list, { type: 'text', options });
  for (const [role, kind] of Object.entries(CRM_ROLES) as [CrmRole, PropertyKind][]) {
    if (role !== 'title') {
      sandbox.addField(kinds[stream], names[stream][role], { type: kind, ...OF_ROLE[role] });
    }
  }
}

interface Account {
  sandbox: RestCrmSandbox;
  proxy: FaultProxy;
  search: LaggingSearch;
}

async function openStream(account: Account, speech: RestCrmSpeech, stream: StreamName): Promise<CrmTarget> {
  const { sandbox, proxy, search } = account;
  const names = speech.names[stream];
  const authorizer = speech.login(sandbox.token);
  const constants = speech.constants[stream] ?? [];
  const mapped = [...mappedProperties(names), ...constants];
  const open = ({ createCalendar: _, properties = mapped, ...worker }: Worker) =>
    restCrm.open({
      ...worker,
      clock: Date.now,
      crm: { stream, properties },
      settings: restCrm.settingsSchema.parse({
        baseUrl: sandbox.apiUrl.replace(sandbox.url, proxy.url),
        profile: speech.profile,
      }),
    });
  const http = createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) });
  const preparer = open({
    ownerTag: 'contractmark0000',
    authorizer,
    http,
    shared: new SharedState(),
    log: silentLogger,
    createCalendar: null,
  });
  const container = await containerOf(preparer, null, AbortSignal.timeout(paced(60_000)));
  proxy.forget();
  return {
    supports: restCrm.supports,
    stream,
    names,
    firstName: { property: speech.firstName, isLastRequired: true },
    list: speech.list,
    required: [],
    constants,
    container,
    belonging: { contactKey: null, startAt: stream === 'patients' ? 0 : Date.parse('2027-03-10T08:00:00Z') },
    authorizer,
    open,
    proxy,
    search,
    server: serverVerbs(sandbox, speech, stream),
    dialect: speech.faults(proxy, stream),
    beside: (other) => openStream(account, speech, other),
    close: async () => {},
  };
}

function serverVerbs(sandbox: RestCrmSandbox, speech: RestCrmSpeech, stream: StreamName): CrmServer {
  const kind = speech.kinds[stream];
  const names = speech.names[stream];
  const add = (values: Json) => sandbox.addByHand(kind, { ...speech.least[stream], ...values }).id;
  return {
    objects: async () => sandbox.records(kind).map((record) => toRow(record, speech, names)),
    editByHand: async (id, { title }) => sandbox.editByHand(kind, id, { [names.title]: title }),
    giveByHand: async (id, contactId) => sandbox.editByHand(kind, id, speech.belonging(contactId, stream)),
    deleteByHand: async (id) => sandbox.deleteByHand(kind, id),
    removeMarkByHand: async (id) => sandbox.editByHand(kind, id, { [speech.key]: null, [speech.stamp]: null }),
    removeStampByHand: async (id) => sandbox.editByHand(kind, id, { [speech.stamp]: null }),
    async damageStamp(id, damage) {
      const stamp = sandbox.records(kind).find((record) => record.id === id)?.values[speech.stamp];
      sandbox.editByHand(kind, id, { [speech.stamp]: damage(String(stamp ?? '')) });
    },
    putForeign: async (title, key) =>
      add({ [names.title]: title, ...(key === undefined ? {} : { [speech.key]: key, [speech.stamp]: FOREIGN_STAMP }) }),
    addByHand: async (values) => add(toNames(names, values)),
    removeProperty: async (role) => sandbox.removeField(kind, names[role]),
    // Deleted records are kept, out of everybody's sight.
    isInBin: async (id) => !sandbox.records(kind).some((record) => record.id === id),
  };
}

/** A copy, because the sandbox continues to write to its own object. */
function toRow({ id, values, updatedAt }: StoredRecord, speech: RestCrmSpeech, names: CrmTarget['names']): RemoteRow {
  return {
    remoteId: id,
    ...partsOfStamp(values[speech.stamp]),
    key: (values[speech.key] as string | null | undefined) ?? null,
    title: String(values[names.title] ?? ''),
    version: String(updatedAt),
    values: valuesOf(names, (name, role) => read(speech, values[name], role)),
    contactIds: speech.contactIds(values),
  };
}

function read(speech: RestCrmSpeech, value: unknown, role: CrmRole): PropertyValue {
  if (value === undefined || value === null || value === '') return null;
  if (CRM_ROLES[role] === 'instant') return speech.instant(String(value));
  return value as PropertyValue;
}
