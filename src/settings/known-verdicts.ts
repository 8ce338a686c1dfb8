import type { NamedFile } from './list-files.ts';
import { isManagedName } from './managed-tenant.ts';
import type { SeenFiles } from './seen-files.ts';
import type { TenantSecrets } from './tenant-secrets.ts';
import type { Verdict } from './verdicts.ts';

/** What is known of files that were checked before. A verdict holds while the secrets that its file names are what they were. */
export interface KnownVerdicts {
  /** The verdict on a file that need not be read, since it is as it was. */
  unread(file: NamedFile): Verdict | null;
  /** The verdict on a file by its bytes. */
  find(id: string, digest: string): Verdict | null;
  /** The tag of a secret's value. */
  tagOf(value: string): string;
}

/** What verdicts are known by. */
export interface KnownOptions {
  verdicts: ReadonlyMap<string, Verdict>;
  secrets: TenantSecrets;
  seen: SeenFiles;
  /** Whether the verdict on a tenant is that on its file as it was read last. */
  isOfFile(id: string): boolean;
  /** Whether nobody asks about a tenant, so that its file counts as it was when it was found to be without faults; never when absent. */
  isAside?(id: string): boolean;
}

/** Opens what is known by `verdicts`. It outlives the reading, so it holds nothing else of the one before. */
export function knownVerdicts(
  { verdicts, secrets, seen, isOfFile, isAside = () => false }: KnownOptions,
  tagOf: (value: string) => string,
): KnownVerdicts {
  const isCurrent = ({ secrets: named, outline }: Verdict) =>
    secrets.as(outline.id, () =>
      named.every(([reference, tag]) => {
        const value = secrets.secretAt(reference);
        return value !== null && tagOf(value) === tag;
      }),
    );
  const current = (verdict: Verdict | undefined) => (verdict !== undefined && isCurrent(verdict) ? verdict : null);
  return {
    tagOf,
    unread({ id, fileName }) {
      const found = verdicts.get(id);
      // A file that did not count, beside a managed tenant of its name, is as it was, and was never judged.
      const verdict = found !== undefined && (found.managed !== null) === isManagedName(fileName) ? found : undefined;
      if (isAside(id)) return verdict ?? null;
      const isUnchanged = seen.isAsBefore(fileName);
      return isUnchanged && isOfFile(id) ? current(verdict) : null;
    },
    find(id, digest) {
      const verdict = verdicts.get(id);
      return verdict?.digest === digest ? current(verdict) : null;
    },
  };
}
