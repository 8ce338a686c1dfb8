import type { MirrorError } from '../../model/errors.ts';
import { slices } from '../../model/slices.ts';
import type { ContactStamp, ExistingContact, ExistingContacts } from '../connector.ts';
import { toStamp } from '../stamp.ts';
import { errors } from './errors.ts';
import { namesToRead, type Scope, type StoredRecord, toItem, type Values } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { listRecords, readRecords } from './records.ts';
import { errorOfRow, sendUpdates } from './rows.ts';

/** Addresses beside the one in `email`, with semicolons between (developers.hubspot.com, CRM contacts, secondary emails). */
const OTHER_ADDRESSES = 'hs_additional_emails';

/** The contacts of an account that were there before us. */
export function openExisting(scopeFor: (signal: AbortSignal) => Promise<Scope>): ExistingContacts {
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
      // The id of a contact that was merged leads to the one that is left.
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
