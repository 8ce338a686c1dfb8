import type { OpenTarget } from '../jobs/tenant.ts';
import { MirrorError } from '../model/errors.ts';

/**
 * Asks a target where people work with objects; addresses by remote id. A page is a help beside what is told: a target that can't be
 * asked now gives none.
 * @param container null while the target has none
 */
export async function pagesOf(
  { connector }: Pick<OpenTarget, 'connector'>,
  container: string | null,
  remoteIds: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  if (container === null || remoteIds.length === 0 || connector.pagesOf === undefined) return new Map();
  try {
    return await connector.pagesOf(container, [...new Set(remoteIds)], signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MirrorError)) throw error;
    return new Map();
  }
}
