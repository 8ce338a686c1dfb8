import { MirrorError } from '../../model/errors.ts';
import { slices } from '../../model/slices.ts';
import type { ContactStamp, ExistingContact, ExistingContacts } from '../connector.ts';
import { toStamp } from '../stamp.ts';
import type { Part } from './client.ts';
import { resultsOf } from './deleting.ts';
import { rowErrorOf } from './errors.ts';
import { propertiesOf } from './from-model.ts';
import { COLLECTION_SIZE } from './limits.ts';
import { queryPages, type Scope, selectIn, wholeRecord } from './reading.ts';
import type { SeenRecord } from './schemas.ts';
import { ALLOW_DUPLICATES } from './writing.ts';

/** The contacts of an org that were there before us. */
export function openExisting(scopeFor: (signal: AbortSignal) => Promise<Scope>): ExistingContacts {
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
