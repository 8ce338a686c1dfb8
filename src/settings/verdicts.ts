import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { derivedKey } from '../model/derived-key.ts';
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

/** What was found to be without faults, under the name of its file. */
export interface Kept {
  tenants: ReadonlyMap<string, Verdict>;
  /** Clinic profiles with every default filled in. */
  profiles: ReadonlyMap<string, ClinicProfile>;
}

/** What was kept of them before. */
export interface KeptFile extends Pick<Kept, 'profiles'> {
  /** Of a managed tenant it is known for its revision. */
  tenantsWith(managed: ManagedTenants): ReadonlyMap<string, Verdict>;
}

/** Of a configuration that nothing is known of. */
export const NOTHING_KEPT: KeptFile = { profiles: new Map(), tenantsWith: () => new Map() };

/** Verdicts on tenants' files and on profiles, kept from one start to the next. */
export interface VerdictFile {
  /** The tag of a secret: the same for the same value, and of no use to who does not have the identity key. */
  tagOf(value: string): string;
  /** What is kept; nothing when it was made under other surroundings. @param surroundings digest of settings and profiles */
  read(surroundings: string): KeptFile;
  /** Keeps these and no others. What can't be written is not kept. @param makeDirectory also where the directory is missing */
  keep(all: Kept, surroundings: string, options: { makeDirectory: boolean }): void;
}

/** What verdicts are kept with. */
export interface VerdictParts {
  /** Where the data directory is; null: nothing is kept. */
  dataDirectory: string | null;
  /** The configuration's own directory: each has its verdicts. */
  dir: string;
  identityKey: Uint8Array;
  /** They open the documents of managed tenants: under others nothing is known of these. */
  sealingKeys: readonly Uint8Array[];
  /** What the file's name begins with. */
  name: 'checked' | 'running';
  /** Digest of the program; asked for where verdicts are kept. */
  program(): string;
}

const PROOF_BYTES = 32;
const NEW_LINE = 0x0a;

/** The first line of the file, as JSON; behind it the tenants' files as JSON, one after the other. */
interface Index {
  profiles: [name: string, ClinicProfile][];
  /** In the order of the contents behind, with the length of each; null: a managed tenant, whose content is not among them. */
  tenants: (Omit<Verdict, 'json' | 'managed'> & { bytes: number | null })[];
}

/**
 * Opens the verdicts: one file, which begins with an HMAC of all that follows, of the program and of the surroundings. One that is damaged,
 * is not ours or is of others is as none; it may be deleted at any time. It holds what the tenants' files hold, which is no secret, and of
 * managed tenants no more than their outlines.
 */
export function openVerdicts({
  name,
  dataDirectory,
  dir,
  identityKey,
  sealingKeys,
  program,
}: VerdictParts): VerdictFile {
  const place =
    dataDirectory === null ? null : join(dataDirectory, `${name}-${hash('sha256', resolve(dir)).slice(0, 16)}`);
  const made = place === null ? '' : program();
  const key = derivedKey(identityKey, '', 'verdicts');
  const keyed = (...parts: (string | Uint8Array)[]) => {
    const hmac = createHmac('sha256', key());
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  };
  const ring = keyed('sealing keys', ...sealingKeys);
  const proofOf = (surroundings: string, body: Buffer) => keyed(made, ring, surroundings, body);
  const tags = new Map<string, string>();
  return {
    tagOf(value) {
      const tag = tags.get(value) ?? keyed('secret', value).toString('base64url');
      tags.set(value, tag);
      return tag;
    },
    read: (surroundings) => (place === null ? NOTHING_KEPT : readKept(place, (body) => proofOf(surroundings, body))),
    keep(all, surroundings, { makeDirectory }) {
      if (place === null) return;
      const body = bodyOf(all);
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

function bodyOf({ tenants, profiles }: Kept): Buffer {
  const contents = [...tenants.values()].map(({ json, managed }) => (managed === null ? Buffer.from(json) : null));
  const index: Index = {
    // One that JSON would not give back as it is is checked anew each time.
    profiles: [...profiles].filter(([, profile]) => isDeepStrictEqual(JSON.parse(JSON.stringify(profile)), profile)),
    tenants: [...tenants.values()].map(({ digest, secrets, outline, managed }, at) => {
      return {
        digest,
        secrets,
        outline: managed === null ? outline : withoutExpressions(outline),
        bytes: contents[at]?.length ?? null,
      };
    }),
  };
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(index)}\n`),
    ...contents.flatMap((content) => (content === null ? [] : [content])),
  ]);
}

function readKept(place: string, proofOf: (body: Buffer) => Buffer): KeptFile {
  let bytes: Buffer;
  try {
    bytes = readFileSync(place);
  } catch {
    return NOTHING_KEPT;
  }
  const body = bytes.subarray(PROOF_BYTES);
  if (bytes.length < PROOF_BYTES || !timingSafeEqual(bytes.subarray(0, PROOF_BYTES), proofOf(body)))
    return NOTHING_KEPT;
  const behind = body.indexOf(NEW_LINE);
  const index = JSON.parse(body.toString('utf8', 0, behind)) as Index;
  // Copied, so that the index, which is the larger part, can go.
  const contents = Buffer.from(body.subarray(behind + 1));
  return { profiles: new Map(index.profiles), tenantsWith: (managed) => tenantsOf(index.tenants, contents, managed) };
}

function tenantsOf(heads: Index['tenants'], contents: Buffer, managed: ManagedTenants): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  let at = 0;
  for (const { bytes, ...head } of heads) {
    const { id } = head.outline;
    if (bytes === null) {
      const document = managed.get(id);
      // Of a document that is another by now nothing is known.
      if (document?.revision === head.digest) verdicts.set(id, { ...head, json: '', managed: document });
    } else {
      verdicts.set(id, laterRead(head, contents.subarray(at, at + bytes)));
      at += bytes;
    }
  }
  return verdicts;
}

/** Of a managed tenant's document nothing stands in the file, its expressions least of all. */
function withoutExpressions(outline: TenantOutline): TenantOutline {
  return outline.expressions?.length === 0 ? outline : { ...outline, expressions: null };
}

/** A verdict whose content is made text when the tenant is opened: of most it never is. */
function laterRead({ digest, secrets, outline }: Omit<Verdict, 'json' | 'managed'>, content: Buffer): Verdict {
  return {
    ...{ digest, secrets, outline, managed: null },
    get json() {
      return content.toString();
    },
  };
}
