import type { Item } from '../core/model/items.ts';
import type { ItemKey, RemoteItem, Write } from '../core/model/operations.ts';

/** What clinic-mirror writes on an object to recognize it: its target, its record, and the write that made it so. */
export interface LabelsToWrite {
  ownerTag: string;
  sealedRecordId: string;
  revision: number;
  /** Required for a vendor with a field for the key. */
  key?: ItemKey;
}

/** The labels of an object as found. Users and programs may remove or damage each of them. */
export interface Labels {
  ownerTag: string | null;
  sealedRecordId: string | null;
  key?: string;
  /** Absent if missing or damaged. */
  revision?: number;
}

/** Replaces the encrypted record id of an object that was cleared before its deletion, where a label cannot be empty. */
export const NO_RECORD = '-';

/** Labels of an object whose content is unknown. */
export const NO_LABELS: Labels = { ownerTag: null, sealedRecordId: null };

/** The vendor's field for each label. Without a field for the key, the object's id or name is the key. */
export type LabelFields = Readonly<Record<'ownerTag' | 'sealedRecordId' | 'revision', string>> & {
  readonly key?: string;
};

/** Returns the labels of a write. */
export function labelsOf(
  ownerTag: string,
  { key, sealedRecordId, revision }: Pick<Write<Item>, 'key' | 'sealedRecordId' | 'revision'>,
): Required<LabelsToWrite> {
  return { ownerTag, key, sealedRecordId, revision };
}

/** Returns the values of the vendor's fields for the labels. */
export function toFields(fields: LabelFields, labels: LabelsToWrite): Record<string, string> {
  const { ownerTag, key, sealedRecordId, revision } = labels;
  return {
    [fields.ownerTag]: ownerTag,
    ...(fields.key === undefined || key === undefined ? {} : { [fields.key]: key }),
    [fields.sealedRecordId]: sealedRecordId,
    [fields.revision]: toRevisionText(revision),
  };
}

/** Reads the labels from the vendor's fields. @param textOf returns the text of a field; nothing for an absent one */
export function fromFields(fields: LabelFields, textOf: (field: string) => string | null | undefined): Labels {
  const key = fields.key === undefined ? undefined : textOf(fields.key);
  const sealedRecordId = textOf(fields.sealedRecordId) ?? null;
  return {
    ownerTag: textOf(fields.ownerTag) ?? null,
    sealedRecordId: sealedRecordId === NO_RECORD ? null : sealedRecordId,
    ...withRevision(fromRevisionText(textOf(fields.revision))),
    ...(key == null ? {} : { key }),
  };
}

/** An own object, by its labels and its names. */
export interface Owned extends Pick<RemoteItem, 'sealedRecordId' | 'revision' | 'marksLost'> {
  /** Null for an own object without label, name and id of a key's form, such as a user's copy. */
  key: ItemKey | null;
}

/**
 * Decides whose an object is. With the owner tag of this target it is ours. With the tag of another target it is foreign. Without a tag, or
 * with a damaged one, a label, name or id in the form of a key decides, because only clinic-mirror can produce a key: then the object is
 * ours and has lost its marks.
 * @param names names and ids of the object, by priority; absent ones are ignored
 * @returns null for a foreign object
 */
export function ownedBy(ownerTag: string, labels: Labels, names: readonly (string | null | undefined)[]): Owned | null {
  const isMarked = labels.ownerTag === ownerTag;
  const named = [labels.key, ...names].find((name) => KEY_FORM.test(name ?? '')) ?? null;
  if (!isMarked && (isTag(labels.ownerTag) || named === null)) return null;
  return {
    key: isMarked ? (labels.key ?? named) : named,
    sealedRecordId: labels.sealedRecordId,
    ...withRevision(labels.revision),
    ...(isMarked ? {} : { marksLost: true }),
  };
}

/** Returns the part of an own object that its labels decide, in the contract's form. */
export function ownedPart({ sealedRecordId, revision, marksLost }: Omit<Owned, 'key'>): Omit<Owned, 'key'> {
  return { sealedRecordId, ...withRevision(revision), ...(marksLost ? { marksLost } : {}) };
}

/** Decides whether the labels are of the write of an operation, so that equal content needs no second write. */
export function areOfWrite(
  { sealedRecordId, revision }: Pick<Owned, 'sealedRecordId' | 'revision'>,
  write: Pick<LabelsToWrite, 'sealedRecordId' | 'revision'>,
): boolean {
  return sealedRecordId === write.sealedRecordId && revision === write.revision;
}

/** Form of the keys that clinic-mirror chooses. */
export const KEY_FORM = /^[0-9a-v]{32}$/;

/** A missing or damaged owner tag leaves the decision to the names. */
function isTag(text: string | null): boolean {
  return /^[0-9a-v]{16}$/.test(text ?? '');
}

/** Eight digits: a longer number would exceed the counter's precision, and is not a valid label. */
const REVISION = /^[1-9a-z][0-9a-z]{0,7}$/;

/** Returns a revision in its stamped form: base 36. */
export function toRevisionText(revision: number): string {
  return revision.toString(36);
}

/** Parses a stamped revision; undefined if absent or invalid. */
export function fromRevisionText(text: unknown): number | undefined {
  return typeof text === 'string' && REVISION.test(text) ? Number.parseInt(text, 36) : undefined;
}

/** Returns the revision as an optional part of an object. */
export function withRevision(revision: number | undefined): { revision?: number } {
  return revision === undefined ? {} : { revision };
}
