/** The verb of `acts.ts` that concerns servers that are away. */
import * as incidents from './incidents.ts';
import { act } from './recording.ts';

/** Of a name that somebody typed only one that there is stands in the log. @see incidents.retryHost */
export const retryHost = act(
  incidents.retryHost,
  async (_, { outages }, host) => {
    const isKnown = (await outages.list()).some((outage) => outage.host === host);
    return { verb: 'retry', tenant: null, what: { host: isKnown ? host : null } };
  },
  ({ clinics, targets }) => ({ clinics: clinics.length, targets }),
);
