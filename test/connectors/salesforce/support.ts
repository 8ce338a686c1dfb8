import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import {
  type FieldOptions,
  type SalesforceSandbox,
  type SalesforceSandboxOptions,
  startSalesforceSandbox,
} from '../../../sandbox/salesforce/index.ts';
import type { Authorizer, Connector } from '../../../src/connectors/connector.ts';
import { salesforce } from '../../../src/connectors/salesforce/index.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { type Logger, silentLogger } from '../../../src/core/log/logger.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem, MappedProperty, PropertyValue, StreamName } from '../../../src/core/model/items.ts';
import type { Operation, Outcome, RemoteItem } from '../../../src/core/model/operations.ts';
import { paced } from '../../support/pace.ts';

const MARK = 'salesforcemark00';
const KEY: FieldOptions = { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true };
const STAMP: FieldOptions = { name: 'Clinic_Stamp__c', type: 'string', length: 255 };
const PATIENT: FieldOptions = {
  name: 'Contact__c',
  type: 'reference',
  referenceTo: ['Contact'],
  relationshipName: 'Contact__r',
};

/** What an administrator has set up for the three streams. */
export const FIELDS: NonNullable<SalesforceSandboxOptions['customFields']> = {
  Contact: [
    KEY,
    STAMP,
    { name: 'Score__c', type: 'double' },
    { name: 'Next_Visit__c', type: 'datetime' },
    { name: 'Vip__c', type: 'boolean' },
  ],
  Account: [KEY, STAMP],
  Event: [KEY, STAMP],
  Opportunity: [KEY, STAMP, PATIENT],
};

/** Properties that workers map by default. */
export const PROPERTIES: Readonly<Record<StreamName, readonly MappedProperty[]>> = {
  patients: [
    { name: 'LastName', kind: 'text' },
    { name: 'Email', kind: 'text' },
    { name: 'Phone', kind: 'text' },
    { name: 'Birthdate', kind: 'date' },
    { name: 'Description', kind: 'text' },
    { name: 'Score__c', kind: 'number' },
    { name: 'Next_Visit__c', kind: 'instant' },
    { name: 'Vip__c', kind: 'boolean' },
  ],
  appointments: [
    { name: 'Subject', kind: 'text' },
    { name: 'StartDateTime', kind: 'instant' },
    { name: 'EndDateTime', kind: 'instant' },
  ],
  invoices: [
    { name: 'Name', kind: 'text' },
    { name: 'StageName', kind: 'text' },
    { name: 'CloseDate', kind: 'date' },
    { name: 'Amount', kind: 'number' },
  ],
};

/** A connection to the sandbox with the org's URL from its last refresh, as the vendor returns it. */
export interface TestLogin extends Authorizer {
  renewals: number;
  /** The current URL of the org; the connection learns it at its renewal. */
  orgUrl: string;
}

/** What a test chooses for a worker. */
export interface Choice {
  settings?: object;
  properties?: readonly MappedProperty[];
  login?: Authorizer;
  ownerTag?: string;
  clock?: () => number;
  log?: Logger;
  timeoutMs?: number;
}

export interface World {
  sandbox: SalesforceSandbox;
  login: TestLogin;
  open(stream?: StreamName, choice?: Choice): Connector<CrmItem>;
}

/** Opens a sandbox with a connection; closed after the test. */
export async function openWorld(options: SalesforceSandboxOptions = {}): Promise<World> {
  const sandbox = await startSalesforceSandbox({ customFields: FIELDS, ...options });
  onTestFinished(() => sandbox.close());
  const login = loginAt(sandbox);
  const shared = new SharedState();
  return {
    sandbox,
    login,
    open: (stream = 'patients', { settings = {}, properties = PROPERTIES[stream], ownerTag = MARK, ...rest } = {}) =>
      salesforce.open({
        ownerTag,
        crm: { stream, properties },
        authorizer: rest.login ?? login,
        http: createHttpClient({ userAgent: 'test', clock: Date.now, timeoutMs: rest.timeoutMs ?? paced(10_000) }),
        shared,
        log: rest.log ?? silentLogger,
        clock: rest.clock ?? Date.now,
        settings: salesforce.settingsSchema.parse(settings),
      }),
  };
}

function loginAt(sandbox: SalesforceSandbox): TestLogin {
  let token = sandbox.issueAccessToken();
  let address = sandbox.url;
  const login: TestLogin = {
    renewals: 0,
    orgUrl: sandbox.url,
    quotaUser: null,
    header: async () => `Bearer ${token}`,
    renew: async () => {
      login.renewals += 1;
      token = sandbox.issueAccessToken();
      address = login.orgUrl;
      return `Bearer ${token}`;
    },
    baseUrl: () => address,
  };
  return login;
}

/** The key of a record, as the daemon would derive it: 32 characters of `[0-9a-v]`. */
export function keyOf(recordId: string): string {
  const bytes = createHash('sha256').update(recordId).digest();
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join('');
}

/** A patient; what is given replaces its values. */
export function patient(values: Record<string, PropertyValue> = {}): CrmItem {
  const properties = {
    LastName: 'Rossi',
    Email: 'rossi@clinic.example',
    Phone: '+390551234567',
    Birthdate: '1931-05-01',
    Description: null,
    Score__c: 7.5,
    Next_Visit__c: '2027-03-10T08:00:00.000Z',
    Vip__c: false,
    ...values,
  };
  return { properties, contactKey: null, startAt: 0 };
}

/** An appointment of a patient. */
export function visit(contactKey: string | null, values: Record<string, PropertyValue> = {}): CrmItem {
  const properties = {
    Subject: 'Visit',
    StartDateTime: '2027-03-10T08:00:00.000Z',
    EndDateTime: '2027-03-10T08:30:00.000Z',
    ...values,
  };
  return { properties, contactKey, startAt: Date.parse('2027-03-10T08:00:00Z') };
}

/** An invoice of a patient. */
export function invoice(contactKey: string | null): CrmItem {
  const properties = { Name: 'Invoice 7', StageName: 'Closed Won', CloseDate: '2027-03-10', Amount: 80.5 };
  return { properties, contactKey, startAt: Date.parse('2027-03-10T00:00:00Z') };
}

export function create(recordId: string, item: CrmItem = patient()): Operation<CrmItem> {
  return {
    kind: 'create',
    recordId,
    key: keyOf(recordId),
    sealedRecordId: `sealed-${recordId}`,
    item,
    revision: 1,
  };
}

export function update(
  recordId: string,
  item: CrmItem = patient(),
  remoteId: string | null = null,
): Operation<CrmItem> {
  const sealedRecordId = `sealed-${recordId}`;
  return {
    kind: 'update',
    recordId,
    key: keyOf(recordId),
    sealedRecordId,
    item,
    revision: 1,
    versionTag: null,
    remoteId,
  };
}

export function remove(recordId: string, remoteId: string | null = null): Operation<CrmItem> {
  return { kind: 'delete', recordId, key: keyOf(recordId), revision: 1, versionTag: null, remoteId };
}

/** One call of `apply`. */
export function apply(by: Connector<CrmItem>, ...operations: Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  return by.apply('container', operations, signal());
}

/** Outcomes in words, in the order of the record ids. */
export function inWords(outcomes: readonly Outcome<CrmItem>[]): string[] {
  return [...outcomes]
    .sort((one, other) => (one.recordId < other.recordId ? -1 : 1))
    .map((outcome) => {
      if (outcome.result === 'failed') return `${outcome.recordId} ${outcome.error.code}`;
      return `${outcome.recordId} ${'effect' in outcome ? outcome.effect : outcome.result}`;
    });
}

/** The error of the one outcome that failed. */
export function failureOf(outcomes: readonly Outcome<CrmItem>[]): MirrorError {
  const failed = outcomes.find((outcome) => outcome.result === 'failed');
  if (failed?.result !== 'failed') throw new Error('nothing failed');
  return failed.error;
}

/** Returns every record of clinic-mirror that a read finds. */
export async function readAll(by: Connector<CrmItem>): Promise<RemoteItem<CrmItem>[]> {
  return (await Array.fromAsync(by.read('container', null, signal()))).flat();
}

/** Ends a call that hangs. */
export function signal(): AbortSignal {
  return AbortSignal.timeout(paced(60_000));
}
