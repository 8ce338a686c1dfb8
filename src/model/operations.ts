import type { MirrorError } from './errors.ts';
import type { CalendarItem, Item } from './items.ts';
import type { Instant } from './time.ts';

/**
 * The name that we choose for a remote object: base32hex, lower case, 32 characters of `[0-9a-v]` (160 bits of an HMAC).
 * A legal Google event id, a safe CalDAV file name and UID. It tells nothing without the tenant's key.
 */
export type ItemKey = string;

/** Why an operation is in the plan. */
export type ReasonCode =
  /** The target holds nothing for the record. */
  | 'new'
  /** The projection differs from what the target was last given. */
  | 'content-changed'
  /** The clinic says that the appointment is cancelled. */
  | 'cancelled'
  /** The appointment stands, and no longer belongs in this target: another agenda, a status that it does not show. */
  | 'excluded'
  /** The appointment is gone from the clinic, confirmed by reading it alone. */
  | 'vanished'
  /** Somebody changed the object in the target, and the target's policy is to restore it. */
  | 'edited-by-hand'
  /** Somebody deleted the object in the target, and the target's policy is to restore it. */
  | 'removed-by-hand'
  /** The patient is forgotten: an operator's command. */
  | 'forgotten';

/** What a target was last given for one record. */
export interface Link {
  recordId: string;
  /** Keyed hash of the item that was written, 16 characters of base64url. */
  fingerprint: string;
  /** The target's version tag (ETag) after our write; null when it gave none. */
  versionTag: string | null;
  /** The record's time as it was last written or seen, in whole seconds. Where the end is not known it is the start. */
  startAt: Instant;
  endAt: Instant;
  /** Which epoch of the key the remote object carries; above 0 when a target refused to revive an id. */
  idAttempt: number;
  /** The remote id, only when it can't be derived from the key (an adopted object under a foreign name). */
  remoteId: string | null;
  /**
   * Epoch and remote id as they were noted are not proved and not told: nothing is written by this link until the target's own objects tell
   * where its object is. Absent for one that tells.
   */
  isUnplaced?: true;
  /**
   * What was found done to the object by hand, until it is as we wrote it again; null otherwise. `removed`: there is no object.
   * Everything else in the link still tells of our last write.
   */
  drift: 'edited' | 'removed' | null;
  /** Fingerprint of what the target made of our write, where that is not what was sent. */
  storedFingerprint?: string;
  /** How often the object had to be made again, above 0. */
  recreations?: number;
  /** Revision of the write that the target was last given; absent when it was written before revisions were stamped. */
  revision?: number;
  /** With drift `edited`: fingerprint of the object as a person left it; absent when it can't be read any more. */
  observedFingerprint?: string;
}

/**
 * One write that a connector is asked to make. `key` is already that of the epoch to use. `revision` counts the decisions for the target
 * and is stamped on the object: what carries a higher one was written later, and is left alone.
 */
export type Operation<Wanted extends Item = CalendarItem> =
  | {
      kind: 'create';
      recordId: string;
      key: ItemKey;
      /** Sealed record id that is stamped on the remote object, so that a lost state can be rebuilt. */
      sealedRecordId: string;
      item: Wanted;
      revision: number;
      /** It was tried before, or a link to an object was lost: one may be there, under another name than we gave it. */
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
    }
  | {
      kind: 'delete';
      recordId: string;
      key: ItemKey;
      revision: number;
      versionTag: string | null;
      remoteId: string | null;
      /** A second object of the record: it alone goes, and no other that carries its key. */
      isDuplicate?: boolean;
      /** The person is to be forgotten: beyond the bin, as far as the target's API reaches. */
      erase?: boolean;
    };

/** What became of one operation; exactly one per operation, matched by `recordId`. */
export type Outcome<Wanted extends Item = CalendarItem> =
  | {
      recordId: string;
      result: 'written';
      /** `adopted`: our object was there already; `recreated`: an update found nothing and made it again. */
      effect: 'created' | 'updated' | 'adopted' | 'revived' | 'recreated';
      versionTag: string | null;
      /** Set only when the remote object does not carry the name derived from the key. */
      remoteId: string | null;
      /** The object as the answer shows it, where the target tells; it may spell things otherwise than we sent them. */
      stored?: Wanted;
    }
  | { recordId: string; result: 'deleted'; effect: 'deleted' | 'already-gone' }
  /** The target will not take this key again: the caller sends the operation again with the next epoch. */
  | { recordId: string; result: 'key-burnt' }
  /**
   * The target refused a value, and nothing was written. The connector leaves the value out when the caller sends the operation again, as it
   * does with its next call.
   */
  | { recordId: string; result: 'put-off' }
  /** The object carries the stamp of a later write of ours, `revision`: it was left alone, and is as `remote` says; null when deleted. */
  | { recordId: string; result: 'superseded'; revision: number; remote: RemoteItem<Wanted> | null }
  /** `burnsKeyAfterMs`: a failure of the key alone, which is given up as burnt where it has lasted so long. */
  | { recordId: string; result: 'failed'; error: MirrorError; burnsKeyAfterMs?: number };

/** An outcome by which the caller knows what becomes of the operation. */
export type FinalOutcome<Wanted extends Item = CalendarItem> = Exclude<Outcome<Wanted>, { result: 'put-off' }>;

/** An object of ours as it stands in a target, found by our owner tag. */
export interface RemoteItem<Wanted extends Item = CalendarItem> {
  key: ItemKey;
  /** The stamped sealed record id, null when somebody removed it. */
  sealedRecordId: string | null;
  remoteId: string;
  /** Null also where a write must look first, for what is a person's on it. */
  versionTag: string | null;
  /** The content read back, null when it can't be read as an item (a person changed it beyond that). */
  item: Wanted | null;
  /** The stamped revision of the write that made it so; absent when it carries none. */
  revision?: number;
  /** Of a contact: properties of the CRM's own by which the person refuses there and that no mapping fills; absent for none. */
  refuses?: readonly string[];
}
