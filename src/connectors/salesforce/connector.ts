import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import { isDeletion, isWrite, type Operation } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import type { Connector, ConnectorContext, ContactStamp, Contacts, ExistingContact } from '../connector.ts';
import { wholeChanges } from '../cursor.ts';
import { applyFitting, type RefusedValues } from '../fitting.ts';
import { askedAlone, failed, resolveOutcomes } from '../outcomes.ts';
import { toStamp } from '../owner.ts';
import { createOrgClient, type OrgClient, type Part } from './client.ts';
import { remove, resultsOf } from './deleting.ts';
import { type Description, describe, type RecordForm, requireFit } from './description.ts';
import { errors, rowErrorOf } from './errors.ts';
import { propertiesOf } from './from-model.ts';
import { BATCH_SIZE, COLLECTION_SIZE } from './limits.ts';
import { findByKey, queryPages, readPages, type Scope, selectIn, wholeRecord } from './reading.ts';
import type { SalesforceSettings, SeenRecord } from './schemas.ts';
import { ALLOW_DUPLICATES, recordOptOuts, upsert } from './writing.ts';

/**
 * Opens one Salesforce target: an object type of an org.
 * @throws TypeError without `crm`, which every Salesforce target has
 */
export function openSalesforce(context: ConnectorContext<SalesforceSettings>): Connector<CrmItem> {
  const { settings, ownerTag, crm, log } = context;
  if (crm === undefined) throw new TypeError('a target in Salesforce is opened with its part crm');
  const clientFor = (signal: AbortSignal) => createOrgClient({ ...context, signal });
  const choices = { allowDuplicates: settings.allowDuplicates, emptiesBin: settings.emptyBin };
  let described: Description | null = null;
  const refused: RefusedValues = new Map();
  const pace = { rows: COLLECTION_SIZE };
  const scopeFor = async (signal: AbortSignal): Promise<Scope> => {
    const client = clientFor(signal);
    described ??= await describe(client, settings, crm);
    return { client, form: described.form, ownerTag, pace, ...choices, log };
  };
  const applySome = async (operations: readonly Operation<CrmItem>[], signal: AbortSignal) => {
    const { scope, failures } = watched(await scopeFor(signal));
    const deletions = operations.filter(isDeletion);
    const writes = operations.filter(isWrite);
    const outcomes = await recordOptOuts(scope, writes, await upsert(scope, writes));
    const [failure] = failures;
    if (failure === undefined) outcomes.push(...(await remove(scope, deletions)));
    else outcomes.push(...deletions.map((deletion) => failed(deletion, failure)));
    return resolveOutcomes(outcomes, errors, (error) => failures.has(error));
  };
  async function* read(window: TimeWindow | null, signal: AbortSignal) {
    yield* readPages(await scopeFor(signal), window);
  }
  const connector: Connector<CrmItem> = {
    /** The container identifies the object type and the org: a different org of the connection is a different container. */
    async prepare(_, _choice, signal) {
      described = await describe(clientFor(signal), settings, crm);
      requireFit(described);
      if (isPrivate(described.form)) {
        log.warn(
          { unmapped: 'AccountId' },
          'contacts without an account are visible only to their owner and to administrators in Salesforce: map AccountId, or use person accounts',
        );
      }
      return `${described.orgId}/${described.form.object}`;
    },
    async apply(_, operations, signal) {
      if (operations.length === 0) return [];
      const { form } = await scopeFor(signal);
      const fitting = { ...form, log, refused, batchSize: BATCH_SIZE };
      return await applyFitting(operations, fitting, (some) => applySome(some, signal));
    },
    read: (_, window, signal) => read(window, signal),
    find: async (_, keys, signal) => findByKey(await scopeFor(signal), keys),
    /** @see https://help.salesforce.com/s/articleView?id=xcloud.domain_name_url_formats.htm */
    async pagesOf(_, remoteIds, signal) {
      const address = await clientFor(signal).address();
      return new Map(remoteIds.map((id) => [id, `${address}/${id}`]));
    },
    contacts: openContacts(scopeFor),
    changes: (_, { window }, signal) => wholeChanges(read(window, signal)),
  };
  return askedAlone(connector, {
    errors,
    /** @throws MirrorError `settings`, code `crm-setup-incomplete`, with the missing parts */
    async isThere(_, signal) {
      requireFit(await describe(clientFor(signal), settings, crm));
      return true;
    },
  });
}

/**
 * Decides whether written contacts have no account. Salesforce makes such contacts private regardless of the org's sharing rules.
 * @see https://help.salesforce.com/s/articleView?id=sf.contacts_sharing_considerations.htm
 */
function isPrivate({ stream, object, properties }: RecordForm): boolean {
  return stream === 'patients' && object === 'Contact' && !properties.some(({ name }) => name === 'AccountId');
}

/** Returns a scope that records calls that failed as a whole. */
function watched(scope: Scope): { scope: Scope; failures: Set<MirrorError> } {
  const failures = new Set<MirrorError>();
  const client: OrgClient = {
    ...scope.client,
    composite: (...call) =>
      scope.client.composite(...call).catch((error) => {
        const failure = asMirrorError(error);
        failures.add(failure);
        throw failure;
      }),
  };
  return { scope: { ...scope, client }, failures };
}

/** Gives access to contacts that existed before clinic-mirror. */
function openContacts(scopeFor: (signal: AbortSignal) => Promise<Scope>): Contacts {
  return {
    async *list(signal) {
      const scope = await scopeFor(signal);
      const { keyField, stampField } = scope.form;
      for await (const records of queryPages(scope, `${keyField} = null AND ${stampField} = null`)) {
        if (records.length > 0) yield records.map((record) => toExisting(scope, record));
      }
    },
    async read(remoteIds, signal) {
      const scope = await scopeFor(signal);
      const { form, client } = scope;
      const records = await selectIn(client, { ...wholeRecord(form), field: 'Id', values: remoteIds });
      return records.map((record) => toExisting(scope, record));
    },
    async stamp(stamps, signal) {
      const scope = await scopeFor(signal);
      const refused = new Map<string, MirrorError>();
      for (const slice of slices(stamps, COLLECTION_SIZE)) {
        const [answer = null] = await scope.client.composite('salesforce.stamp', [stampPart(scope, slice)]);
        const ids = slice.map(({ remoteId }) => remoteId);
        for (const [id, result] of resultsOf(ids, answer)) {
          if (result instanceof MirrorError) refused.set(id, result);
          else if (!result.success) refused.set(id, rowErrorOf(result, scope.form.fieldNames));
        }
      }
      return refused;
    },
  };
}

function toExisting({ form }: Scope, record: SeenRecord): ExistingContact {
  const [key, stamp] = [record[form.keyField], record[form.stampField]];
  return {
    remoteId: record.Id,
    properties: propertiesOf(form, record) ?? {},
    otherAddresses: [],
    key: typeof key === 'string' ? key : null,
    isFree: typeof key !== 'string' && typeof stamp !== 'string',
  };
}

/** Updates by id (REST API Developer Guide, Update Multiple Records with Fewer Round-Trips). */
function stampPart({ form, ownerTag, allowDuplicates }: Scope, stamps: readonly ContactStamp[]): Part {
  const { object, keyField, stampField } = form;
  const stampOf = ({ as }: ContactStamp) =>
    as && toStamp(ownerTag, { sealedRecordId: as.sealedRecordId, contactKey: null, startAt: 0 });
  const records = stamps.map((stamp) => ({
    attributes: { type: object },
    id: stamp.remoteId,
    [keyField]: stamp.as?.key ?? null,
    [stampField]: stampOf(stamp),
  }));
  return {
    ...(allowDuplicates ? { headers: ALLOW_DUPLICATES } : {}),
    method: 'PATCH',
    path: '/composite/sobjects',
    body: { allOrNone: false, records },
  };
}
