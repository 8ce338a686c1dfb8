import { MirrorError } from '../../model/errors.ts';

/**
 * Does something that must not happen twice. An attempt without a clear end is looked up before it is made again, once.
 * @param find what the attempt has made, null when it has made nothing; null when there is no way to know
 * @throws what the attempt throws; ambiguous when nobody can tell whether it was carried out
 */
export async function once<Value>(
  attempt: () => Promise<Value>,
  find: (() => Promise<Value | null>) | null,
): Promise<Value> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof MirrorError) || !error.ambiguous || find === null) throw error;
    const made = await find().catch((failure: unknown) => {
      throw failure instanceof MirrorError && failure.ambiguous ? failure : error;
    });
    if (made !== null) return made;
    if (error.code === 'write-unshown') throw error;
    return attempt();
  }
}
