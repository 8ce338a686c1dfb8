import { type ClinicApi, createClinicApi } from '../../src/clinic/api.ts';
import type { ClinicContext } from '../../src/clinic/http/call.ts';
import type { ListPage } from '../../src/clinic/read/lists.ts';
import type { ClinicProfile } from '../../src/clinic/schema/profile.ts';
import { CompiledProfile } from '../../src/clinic/schema/profile.ts';
import type { SerialiseSection } from '../../src/clinic/write/invoice-calls.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';

/** Runs sections in sequence within this process, in place of the lease across processes. */
function queueSections(): SerialiseSection {
  const last = new Map<string, Promise<unknown>>();
  return (place, work, signal) => {
    const key = JSON.stringify(place);
    const mine = (last.get(key) ?? Promise.resolve()).then(() => work(signal));
    last.set(
      key,
      mine.catch(() => undefined),
    );
    return mine;
  };
}

/** The API on a server of the test, with one token that never ends. */
export function openApi(
  baseUrl: string,
  profile: ClinicProfile,
  token: string,
  more: Partial<ClinicContext> & { serialise?: SerialiseSection } = {},
): ClinicApi {
  const header = async () => `Bearer ${token}`;
  const { serialise = queueSections(), ...context } = more;
  return createClinicApi(
    {
      profile,
      profileFile: 'profiles/test.yaml',
      compiled: new CompiledProfile(profile),
      pagings: new Map(),
      baseUrl,
      http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now }),
      budget: null,
      authorization: { header, renew: header },
      clock: Date.now,
      log: silentLogger,
      ...context,
    },
    serialise,
  );
}

/** Every record of a list. @throws if a row is unusable */
export async function all<Model>(pages: AsyncIterable<ListPage<Model>>): Promise<Model[]> {
  const records: Model[] = [];
  for await (const page of pages) {
    if (page.unusable.length > 0) throw new Error(`rows were skipped: ${JSON.stringify(page.unusable)}`);
    records.push(...page.records);
  }
  return records;
}
