import type { MirrorError } from './errors.ts';
import type { CalendarItem, Item } from './items.ts';
import type { Instant } from './time.ts';

/**
 * Name that clinic-mirror chooses for a remote object: base32hex in lower case, 32 characters of `[0-9a-v]` (160 bits of an HMAC). Valid as
 * a Google event id, CalDAV file name and UID. Reveals nothing without the tenant's key.
 */
export type ItemKey = string;

/** Reason of an operation in the plan. */
export const REASON_CODES = [
  /** The target has no object for the record. */
  'new',
  /** The projection differs from the last write. */
  'content-changed',
  /** The clinic cancelled the appointment. */
  'cancelled',
  /** The appointment exists, but no longer belongs in this target because of its agenda or status. */
  'excluded',
  /** The appointment disappeared from the clinic, confirmed by a single-record request. */
  'vanished',
  /** A user changed the object in the target, and the policy is to restore the object. */
  'edited-by-hand',
  /** A user deleted the object in the target, and the policy is to restore the object. */
  'removed-by-hand',
  /** An operator's command forgot the patient. */
  'forgotten',
  /** The appointment replaces a removed one, and its event takes over what users added to the event of that one. */
  'rescheduled',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** Last write of one record to a target. */
export interface Link {
  recordId: string;
  /** Keyed hash of the written content, 16 characters of base64url. */
  fingerprint: string;
  /** The target's version tag (ETag) after the write; null if the target gave none. */
  versionTag: string | null;
  /** Time of the record when last written or seen, in whole seconds. If the end is unknown, equals the start. */
  startAt: Instant;
  endAt: Instant;
  /** Key epoch of the remote object; above 0 if a target refused to revive an id. */
  idAttempt: number;
  /** Remote id that cannot be derived from the key (an adopted object with another name); otherwise null. */
  remoteId: string | null;
  /**
   * Epoch and remote id are unproved. No write uses this link until the target's objects show the position of the object. Absent for a
   * proved link.
   */
  isUnplaced?: true;
  /**
   * Manual change of the object, until the daemon restores the object; otherwise null. `removed`: the object is missing. Other fields still
   * describe the last write.
   */
  drift: 'edited' | 'removed' | null;
  /** Fingerprint of the object as stored by the target, if different from the written content. */
  storedFingerprint?: string;
  /** Number of recreations, above 0. */
  recreations?: number;
  /** Revision of the last write; absent for writes before revisions existed. */
  revision?: number;
  /** With drift `edited`: fingerprint of the edited object; absent if unreadable. */
  observedFingerprint?: string;
  /** The object lost its marks; its name or id identifies it. The next write adds the marks. */
  unmarked?: true;
  /** With `unmarked`: the fingerprint describes the found object, perhaps with users' text, and no plan found the content correct yet. */
  isRebuilt?: true;
}

/**
 * One write for a connector. `key` already includes the epoch. `revision` counts the decisions for the target and is stamped on the object.
 * An object with a higher revision was written later, and the connector skips the write.
 */
export type Operation<Wanted extends Item = CalendarItem> =
  | {
      kind: 'create';
      recordId: string;
      key: ItemKey;
      /** Encrypted record id, stamped on the remote object so that lost state can be rebuilt. */
      sealedRecordId: string;
      item: Wanted;
      revision: number;
      /** An object possibly exists, under a different name, after an earlier attempt or the loss of a link. */
      mayExist?: boolean;
    }
  | {
      kind: 'update';
      recordId: string;
      key: ItemKey;
      sealedRecordId: string;
      item: Wanted;
      revision: number;
      versionTag: string | null;
      remoteId: string | null;
      /** Of an event: whether the last write had this description, which identifies it in an event that lost its marks. */
      hadDescription?: (description: string) => boolean;
      /** What users added to the removed event of an earlier appointment, as its `deleted` outcome gave it. */
      additions?: string;
    }
  | {
      kind: 'delete';
      recordId: string;
      key: ItemKey;
      revision: number;
      versionTag: string | null;
      remoteId: string | null;
      /** A duplicate object of the record: delete this object only, not others with its key. */
      isDuplicate?: boolean;
      /** The patient is forgotten: erase the object also from the bin, as far as the target's API allows. */
      erase?: boolean;
    };

/** Operation after which the object exists. */
export type Write<Wanted extends Item = CalendarItem> = Exclude<Operation<Wanted>, { kind: 'delete' }>;
/** Write of an object that a link describes. */
export type Update<Wanted extends Item = CalendarItem> = Extract<Operation<Wanted>, { kind: 'update' }>;
/** Operation after which the object is absent. */
export type Deletion<Wanted extends Item = CalendarItem> = Extract<Operation<Wanted>, { kind: 'delete' }>;

export function isWrite<Wanted extends Item>(operation: Operation<Wanted>): operation is Write<Wanted> {
  return operation.kind !== 'delete';
}

export function isUpdate<Wanted extends Item>(operation: Operation<Wanted>): operation is Update<Wanted> {
  return operation.kind === 'update';
}

export function isDeletion<Wanted extends Item>(operation: Operation<Wanted>): operation is Deletion<Wanted> {
  return operation.kind === 'delete';
}

/** Result of one operation. Each operation has exactly one, matched by `recordId`. */
export type Outcome<Wanted extends Item = CalendarItem> =
  | {
      recordId: string;
      result: 'written';
      /** `adopted`: an object by clinic-mirror already existed. `recreated`: an update found no object and created one. */
      effect: 'created' | 'updated' | 'adopted' | 'revived' | 'recreated';
      versionTag: string | null;
      /** Set only if the remote object does not carry the name derived from the key. */
      remoteId: string | null;
      /** The stored object, if the target returns it; spelling can differ from the sent content. */
      stored?: Wanted;
      /** Whether the target kept the marks, if its answer shows them. */
      marks?: 'kept' | 'dropped';
    }
  | {
      recordId: string;
      result: 'deleted';
      effect: 'deleted' | 'already-gone';
      /**
       * What users had added to the event, in the connector's form, for an update of another event. Absent for none, and for an erasure.
       */
      additions?: string;
    }
  /** The target no longer accepts this key: the caller repeats the operation with the next epoch. */
  | { recordId: string; result: 'key-burnt' }
  /** The target refused a value and wrote nothing. The connector omits the value when the caller repeats the operation in its next call. */
  | { recordId: string; result: 'put-off' }
  /**
   * The object carries `revision`, a later write of clinic-mirror, and was not changed. `remote` is the current object; null when deleted.
   */
  | { recordId: string; result: 'superseded'; revision: number; remote: RemoteItem<Wanted> | null }
  /** `burnsKeyAfterMs`: the failure concerns only the key. After this duration the key is abandoned as burnt. */
  | { recordId: string; result: 'failed'; error: MirrorError; burnsKeyAfterMs?: number };

/** Outcome of a write that the target took. */
export type Written<Wanted extends Item = CalendarItem> = Extract<Outcome<Wanted>, { result: 'written' }>;
/** What a write did. */
export type WriteEffect = Written['effect'];
/** Outcome of a deletion after which the object is absent. */
export type Deleted = Extract<Outcome, { result: 'deleted' }>;

/** An outcome that needs no repetition of the operation. */
export type FinalOutcome<Wanted extends Item = CalendarItem> = Exclude<Outcome<Wanted>, { result: 'put-off' }>;

/** A remote object of clinic-mirror, found by its owner tag, or by a name or id that only clinic-mirror chooses. */
export interface RemoteItem<Wanted extends Item = CalendarItem> {
  key: ItemKey;
  /** Encrypted record id on the object; null if a user or a program removed it. */
  sealedRecordId: string | null;
  remoteId: string;
  /** Null also if a write must first read user additions. */
  versionTag: string | null;
  /** Fetched content; null if unreadable after user changes. */
  item: Wanted | null;
  /** Stamped revision of the last write; absent without a stamp. */
  revision?: number;
  /** The object has a key's form but no owner tag. It may belong to another installation: the links decide. */
  marksLost?: true;
  /** The object exists, but the target did not return its content, or in an unreadable form. Nothing else is known. */
  unreadable?: true;
  /** Of a contact: the CRM's own refusal properties that are set and not mapped; absent for none. */
  refuses?: readonly string[];
}
