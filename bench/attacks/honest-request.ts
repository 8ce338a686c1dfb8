import { openClient, profileOf, type WrittenProfile } from '../../test/clinic/open-client.ts';

const NEVER = new AbortController().signal;
const ORDINARY: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'offset-limit', size: 500, totalPath: 'total', ends: ['total'] },
};
const QUERY = { agendaIds: null, window: { fromAt: Date.parse('2026-03-01'), toAt: Date.parse('2026-03-02') } };

/** The ordinary request of the other tenant: a reading of one page. @throws Error unless all rows are read */
export function honestRequest(clinicUrl: string): () => Promise<void> {
  const { client } = openClient(clinicUrl, profileOf(ORDINARY));
  return async () => {
    const { records } = await client.readAppointments('t', QUERY, NEVER);
    if (records.size === 0) throw new Error('the ordinary page has no records');
  };
}
