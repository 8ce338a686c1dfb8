import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TenantOutline } from './configuration.ts';
import type { ManagedTenant, ManagedTenants } from './managed-tenant.ts';
import type { SecretReference } from './secret-reference.ts';

/** A tenant's file, or the document of a managed tenant, that has no fault, with what was made of it. */
export interface Verdict {
  /** SHA-256 of the file's bytes; of a managed tenant its revision. */
  digest: string;
  /** Every secret that it names and that is kept outside, with the tag of what it was. */
  secrets: readonly (readonly [SecretReference, string])[];
  outline: TenantOutline;
  /** The file's content as JSON; empty for a managed tenant, whose document is kept sealed. */
  json: string;
  /** Null: a file's. */
  managed: ManagedTenant | null;
}

/** What was found to be without faults, as JSON. @throws MirrorError when the document of a managed tenant does not open */
export function contentOf({ json, managed }: Pick<Verdict, 'json' | 'managed'>): string {
  return managed === null ? json : managed.open().json;
}

/** Verdicts on tenants' files, kept from one start to the next. */
export interface VerdictFile {
  /** The tag of a secret: the same for the same value, and of no use to who does not have the identity key. */
  tagOf(value: string): string;
  /**
   * What is kept, by tenant; nothing when it was made under other surroundings. Of a managed tenant it is kept for its revision.
   * @param surroundings digest of settings and profiles
   */
  read(surroundings: string, managed: ManagedTenants): ReadonlyMap<string, Verdict>;
  /** Keeps these and no others. What can't be written is not kept. @param makeDirectory also where the directory is missing */
  keep(all: ReadonlyMap<string, Verdict>, surroundings: string, options: { makeDirectory: boolean }): void;
}

/** What verdicts are kept with. */
export interface VerdictParts {
  /** Where the data directory is; null: nothing is kept. */
  dataDirectory: string | null;
  /** The configuration's own directory: each has its verdicts. */
  dir: string;
  identityKey: Uint8Array;
  /** Digest of the program; asked for where verdicts are kept. */
  program(): string;
}

const PROOF_BYTES = 32;
const NEW_LINE = 0x0a;
const TAB = 0x09;

/**
 * Opens the verdicts: one file, which begins with an HMAC of all that follows, of the program and of the surroundings. One that is damaged,
 * is not ours or is of others is as none; it may be deleted at any time. It holds what the tenants' files hold, which is no secret, and of
 * managed tenants no more than their outlines.
 */
export function openVerdicts({ dataDirectory, dir, identityKey, program }: VerdictParts): VerdictFile {
  const place =
    dataDirectory === null ? null : join(dataDirectory, `checked-${hash('sha256', resolve(dir)).slice(0, 16)}`);
  const made = place === null ? '' : program();
  const key = Buffer.from(hkdfSync('sha256', identityKey, '', 'clinic-mirror verdicts', 32));
  const keyed = (...parts: (string | Uint8Array)[]) => {
    const hmac = createHmac('sha256', key);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  };
  const proofOf = (surroundings: string, body: Buffer) => keyed(made, surroundings, body);
  const tags = new Map<string, string>();
  return {
    tagOf(value) {
      const tag = tags.get(value) ?? keyed('secret', value).toString('base64url');
      tags.set(value, tag);
      return tag;
    },
    read(surroundings, managed) {
      return place === null ? new Map() : readKept(place, (body) => proofOf(surroundings, body), managed);
    },
    keep(all, surroundings, { makeDirectory }) {
      if (place === null) return;
      const body = Buffer.from([...all.values()].map(lineOf).join(''));
      try {
        if (makeDirectory) mkdirSync(dirname(place), { recursive: true });
        const written = `${place}.${process.pid}`;
        writeFileSync(written, Buffer.concat([proofOf(surroundings, body), body]), { mode: 0o600 });
        renameSync(written, place);
      } catch {
        // The next start checks all files again.
      }
    },
  };
}

/** The head, by which a verdict is found, stands before the content, which is read when the tenant is opened: JSON has no tab. */
function lineOf({ json, managed: _, ...head }: Verdict): string {
  return `${JSON.stringify(head)}\t${json}\n`;
}

function readKept(place: string, proofOf: (body: Buffer) => Buffer, managed: ManagedTenants): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  let bytes: Buffer;
  try {
    bytes = readFileSync(place);
  } catch {
    return verdicts;
  }
  const body = bytes.subarray(PROOF_BYTES);
  if (bytes.length < PROOF_BYTES || !timingSafeEqual(bytes.subarray(0, PROOF_BYTES), proofOf(body))) return verdicts;
  for (let at = 0; at < body.length; ) {
    const tab = body.indexOf(TAB, at);
    const end = body.indexOf(NEW_LINE, tab);
    const head = JSON.parse(body.toString('utf8', at, tab)) as Omit<Verdict, 'json' | 'managed'>;
    const json = body.toString('utf8', tab + 1, end);
    const { id } = head.outline;
    const document = json === '' ? managed.get(id) : null;
    // Of a document that is another by now it tells nothing.
    if (document?.revision === head.digest || document === null) verdicts.set(id, { ...head, json, managed: document });
    at = end + 1;
  }
  return verdicts;
}
