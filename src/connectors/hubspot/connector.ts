import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { CrmItem, MappedProperty } from '../../core/model/items.ts';
import { isDeletion, isWrite, type Operation, type Outcome, type RemoteItem } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import type { Connector, ConnectorContext, ContactStamp, Contacts, ExistingContact } from '../connector.ts';
import { wholeChanges } from '../cursor.ts';
import { applyFitting, type PropertyRule, type RefusedValues } from '../fitting.ts';
import { askedAlone, failed, resolveOutcomes } from '../outcomes.ts';
import { toStamp } from '../owner.ts';
import { type Account, createClient, pathsOf, readAccount } from './client.ts';
import { deleteAll } from './deleting.ts';
import { errors } from './errors.ts';
import { namesToRead, type Scope, type StoredRecord, toItem, toRemoteItem, type Values } from './from-model.ts';
import { BATCH_SIZE, LONGEST_VALUE, OBJECT_OF_STREAM, TYPE_IDS } from './limits.ts';
import { checkSubscriptions } from './mail-subscriptions.ts';
import { lookUpChoices, prepareProperties, resolveChoices } from './properties.ts';
import { findByKeys, listRecords, readRecords } from './records.ts';
import { errorOfRow, findHolders, sendUpdates } from './rows.ts';
import type { HubSpotSettings } from './schemas.ts';
import { writeAll } from './writing.ts';

/**
 * Opens one HubSpot target: contacts, meetings, deals or custom objects of one account.
 * @throws MirrorError `settings`: `crm-part-missing`, `object-unsuitable`, `subscription-unmapped`
 */
export function openHubSpot(context: ConnectorContext<HubSpotSettings>): Connector<CrmItem> {
  const { http, authorizer, clock, settings } = context;
  const target = targetOf(context);
  const rules = new Map(target.properties.map(({ name }) => [name, ruleOf(target, name)]));
  const refused: RefusedValues = new Map();
  let account: Account | null = null;
  const { apiUrl } = settings;
  const zone = () => account?.zone ?? null;
  const bareScope = (signal: AbortSignal): Scope => ({
    ...target,
    client: createClient({ http, authorizer, clock, apiUrl, zone }, signal),
  });
  const scopeFor = async (signal: AbortSignal) => {
    target.choices ??= await lookUpChoices(bareScope(signal));
    return bareScope(signal);
  };
  async function* read(window: TimeWindow | null, signal: AbortSignal) {
    yield* readOurs(await scopeFor(signal), window);
  }
  const connector: Connector<CrmItem> = {
    async prepare(_storedId, _choice, signal) {
      const scope = bareScope(signal);
      account = await readAccount(scope.client, scope.paths);
      const { catalogue, hasUniqueKey } = await prepareProperties(scope);
      target.hasUniqueKey = hasUniqueKey;
      target.choices = await resolveChoices(scope, catalogue);
      target.catalogueNames = new Set(catalogue.keys());
      await checkSubscriptions(scope);
      const isDayAsInstant = ({ name, kind }: MappedProperty) =>
        kind === 'date' && catalogue.get(name)?.type === 'datetime';
      target.daysAsInstants = new Set(target.properties.filter(isDayAsInstant).map(({ name }) => name));
      return `${account.portalId}/${target.object}`;
    },
    apply: (_container, operations, signal) =>
      applyFitting(operations, { ...target, rules, refused, batchSize: BATCH_SIZE }, (some) =>
        apply(bareScope(signal), some),
      ),
    read: (_container, window, signal) => read(window, signal),
    async find(_container, keys, signal) {
      const scope = await scopeFor(signal);
      const records = await findByKeys(scope, keys, namesToRead(scope));
      return records.filter(({ isForeign }) => !isForeign).map((record) => toRemoteItem(scope, record));
    },
    pagesOf: async (container, remoteIds) => pagesOf(container, remoteIds),
    contacts: openContacts(bareScope, scopeFor),
    changes: (_container, { window }, signal) => wholeChanges(read(window, signal)),
  };
  return askedAlone(connector, { errors });
}

/** Data of a target that outlives a call. */
type Target = Omit<Scope, 'client'>;

/** HubSpot validates only the e-mail address of contacts, and stores all values as strings. */
function ruleOf({ object }: Target, name: string): PropertyRule {
  return { longest: LONGEST_VALUE, form: object === 'contacts' && name === 'email' ? 'email' : undefined };
}

function targetOf({ crm, settings, ownerTag, log }: ConnectorContext<HubSpotSettings>): Target {
  if (crm === undefined) throw errors.make('crm-part-missing');
  const { keyProperty, stampProperty, propertyGroup, version, subscriptions } = settings;
  if (crm.stream === 'patients' && settings.object !== undefined) throw errors.make('object-unsuitable');
  if (crm.stream !== 'patients' && subscriptions.length > 0) {
    throw errors.make('subscription-unmapped', { names: [message('hubspot.subscriptions-elsewhere')] });
  }
  const object = settings.object ?? OBJECT_OF_STREAM[crm.stream];
  return {
    stream: crm.stream,
    object,
    properties: crm.properties,
    ownerTag,
    keyProperty,
    stampProperty,
    propertyGroup,
    daysAsInstants: new Set(),
    hasUniqueKey: object !== 'meetings',
    choices: null,
    catalogueNames: new Set(),
    subscriptions,
    paths: pathsOf(version),
    log,
  };
}

/**
 * Carries out operations and returns one outcome each.
 * @throws MirrorError if all operations failed with one error of the whole target
 */
async function apply(scope: Scope, operations: readonly Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  const outcomes = new Map<string, Outcome<CrmItem>>();
  const recordOutcome = (outcome: Outcome<CrmItem>) => outcomes.set(outcome.recordId, outcome);
  let failure: MirrorError | null = null;
  try {
    await writeAll(scope, operations.filter(isWrite), recordOutcome);
    await deleteAll(scope, operations.filter(isDeletion), recordOutcome);
  } catch (error) {
    failure = asMirrorError(error);
  }
  const all = operations.map((operation) => outcomes.get(operation.recordId) ?? failed(operation, failure!));
  return resolveOutcomes(all, errors, (error) => error === failure);
}

async function* readOurs(scope: Scope, window: TimeWindow | null): AsyncGenerator<RemoteItem<CrmItem>[]> {
  // Contacts have no time. For other objects, the stamp contains the time, since HubSpot's lists have no filter.
  const isIn = ({ stamp }: StoredRecord) =>
    stamp !== null &&
    (window === null || scope.object === 'contacts' || (stamp.startAt >= window.fromAt && stamp.startAt < window.toAt));
  for await (const page of listRecords(scope)) {
    const ours = page.filter(isIn);
    if (ours.length > 0) yield ours.map((record) => toRemoteItem(scope, record));
  }
}

/** URL of HubSpot's web app, which redirects accounts of other data centres. */
const APP_URL = 'https://app.hubspot.com';

/**
 * Returns the web pages of objects: account, type and id. A custom object configured by name has no pages, since its type number is unknown
 * here.
 * @param container result of `prepare`: the account's id and the type of object
 * @see https://knowledge.hubspot.com/records/work-with-records
 */
export function pagesOf(container: string, remoteIds: readonly string[]): ReadonlyMap<string, string> {
  const [portalId, object = ''] = container.split('/');
  const typeId = object.startsWith('2-') ? object : TYPE_IDS[object];
  if (typeId === undefined) return new Map();
  return new Map(remoteIds.map((id) => [id, `${APP_URL}/contacts/${portalId}/record/${typeId}/${id}`]));
}

/** E-mail addresses in addition to `email`, separated by semicolons (developers.hubspot.com, CRM contacts, secondary emails). */
const OTHER_ADDRESSES = 'hs_additional_emails';

/** Gives access to contacts that existed before clinic-mirror. */
function openContacts(
  bareScope: (signal: AbortSignal) => Scope,
  scopeFor: (signal: AbortSignal) => Promise<Scope>,
): Contacts {
  const namesOf = (scope: Scope) => [...namesToRead(scope), OTHER_ADDRESSES];
  return {
    async *list(signal) {
      const scope = await scopeFor(signal);
      for await (const page of listRecords(scope, namesOf(scope))) {
        const free = page.map((record) => toExisting(scope, record)).filter(({ isFree }) => isFree);
        if (free.length > 0) yield free;
      }
    },
    async read(remoteIds, signal) {
      const scope = await scopeFor(signal);
      const wanted = { object: scope.object, ids: remoteIds, byKey: false, properties: namesOf(scope) };
      const { records } = await readRecords(scope, wanted);
      const asked = new Set(remoteIds);
      // HubSpot resolves the id of a merged contact to the remaining contact.
      return records.filter(({ id }) => asked.has(id)).map((record) => toExisting(scope, record));
    },
    async stamp(stamps, signal) {
      const scope = await scopeFor(signal);
      const refused = new Map<string, MirrorError>();
      for (const slice of slices(stamps, BATCH_SIZE)) {
        const rows = slice.map((stamp) => ({
          key: stamp.as?.key ?? stamp.remoteId,
          id: stamp.remoteId,
          values: valuesOf(scope, stamp),
        }));
        const ends = await sendUpdates(scope, rows);
        for (const { key, id } of rows) {
          const end = ends.get(key);
          if (end === undefined || !('record' in end))
            refused.set(id, end === undefined ? errors.make('answer-missing') : errorOfRow(scope, end));
        }
      }
      return refused;
    },
    async holders(wanted, signal) {
      const properties = new Map([...wanted].map(([key, item]) => [key, item.properties]));
      return await findHolders(bareScope(signal), properties);
    },
  };
}

function toExisting(scope: Scope, record: StoredRecord): ExistingContact {
  const { id: remoteId, key, stamp, isForeign, values } = record;
  return {
    remoteId,
    properties: toItem(scope, record, { contactKey: null, startAt: 0 }).properties,
    otherAddresses: (values[OTHER_ADDRESSES] ?? '').split(';').filter((address) => address.trim() !== ''),
    key,
    isFree: key === null && stamp === null && !isForeign,
  };
}

function valuesOf({ keyProperty, stampProperty, ownerTag }: Scope, { as }: ContactStamp): Values {
  if (as === null) return { [keyProperty]: '', [stampProperty]: '' };
  const { key, sealedRecordId } = as;
  return { [keyProperty]: key, [stampProperty]: toStamp(ownerTag, { sealedRecordId, contactKey: null, startAt: 0 }) };
}
