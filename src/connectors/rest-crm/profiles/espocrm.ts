import type { WrittenDescription } from '../description.ts';

type Resource = NonNullable<WrittenDescription['streams']['patients']>;

/**
 * EspoCRM. Lists, records and X-Skip-Duplicate-Check: docs.espocrm.com/development/api/crud; filters:
 * docs.espocrm.com/development/api-search-params; X-Api-Key and date-times in UTC: docs.espocrm.com/development/api. Base address:
 * `https://…/api/v1`; connection of the kind api-key with the header X-Api-Key. Fields that people make begin with `c`.
 */
export const espocrm: WrittenDescription = {
  values: { instant: 'sql' },
  streams: {
    patients: entity('Contact', {}),
    // Whom it is with, and a start for the mapping to override: a meeting must have one.
    appointments: entity('Meeting', { dateStart: '{{startAt}}', contactsIds: ['{{contactId}}'] }),
    invoices: entity('Opportunity', { contactsIds: ['{{contactId}}'] }),
  },
};

/** One entity type; all are called alike. */
function entity(type: string, beside: Record<string, unknown>): Resource {
  const body = { ...beside, '...': '{{properties}}' };
  // Members of a family share addresses and numbers: EspoCRM would refuse the second one as a duplicate.
  const headers = { 'X-Skip-Duplicate-Check': 'true' };
  return {
    keyField: 'cMirrorKey',
    stampField: 'cMirrorStamp',
    row: { versionTag: 'modifiedAt' },
    find: {
      call: {
        method: 'GET',
        path: `/${type}`,
        query: {
          'where[0][type]': 'in',
          'where[0][attribute]': '{{keyField}}',
          'where[0][value][]': '{{keys}}',
          maxSize: 200,
        },
      },
      rows: 'list',
      size: 50,
    },
    get: { call: { method: 'GET', path: `/${type}/{{id}}`, nothing: [404] } },
    create: { call: { method: 'POST', path: `/${type}`, headers, body }, row: '' },
    update: { call: { method: 'PUT', path: `/${type}/{{id}}`, headers, body, nothing: [404] }, row: '' },
    delete: { call: { method: 'DELETE', path: `/${type}/{{id}}`, nothing: [404] } },
    list: {
      call: {
        method: 'GET',
        path: `/${type}`,
        query: {
          'where[0][type]': 'startsWith',
          'where[0][attribute]': '{{stampField}}',
          'where[0][value]': '{{ownerTag}}',
          orderBy: 'id',
          order: 'asc',
          maxSize: '{{size}}',
          offset: '{{offset}}',
        },
      },
      rows: 'list',
      size: 200,
      paging: { by: 'offset', total: 'total' },
    },
    fields: { call: { method: 'GET', path: '/Metadata', query: { key: `entityDefs.${type}.fields` } }, at: '' },
  };
}
