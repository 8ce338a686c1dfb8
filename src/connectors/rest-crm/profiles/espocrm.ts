import type { WrittenDescription } from '../description.ts';

type Resource = NonNullable<WrittenDescription['streams']['patients']>;

/** What a value of a link is called: its name with this behind (github.com/espocrm/espocrm, Resources/metadata/fields/link.json and so on). */
const ENDINGS_OF_LINKS = {
  link: ['Id'],
  linkOne: ['Id'],
  linkParent: ['Id', 'Type'],
  linkMultiple: ['Ids'],
  file: ['Id'],
  image: ['Id'],
  attachmentMultiple: ['Ids'],
};

/**
 * EspoCRM. Lists, records and X-Skip-Duplicate-Check: docs.espocrm.com/development/api/crud; filters:
 * docs.espocrm.com/development/api-search-params; X-Api-Key and date-times in UTC: docs.espocrm.com/development/api. Base address:
 * `https://…/api/v1`; connection of the kind api-key with the header X-Api-Key. Fields that people make begin with `c`.
 *
 * Nothing serves as a version tag: `modifiedAt` counts whole seconds, and stays when the opt-out of a shared address changes. Opt-outs stand
 * with address and number, not with the contact (Core/FieldProcessing/EmailAddress/Saver.php, markAddressOptedOut).
 */
export const espocrm: WrittenDescription = {
  values: { instant: 'sql' },
  errors: { fields: ['messageTranslation.data.field'] },
  streams: {
    patients: {
      ...entity('Contact', {}),
      refusals: [
        { property: 'emailAddressIsOptedOut', by: 'emailAddress' },
        { property: 'phoneNumberIsOptedOut', by: 'phoneNumber' },
        { property: 'doNotCall' },
      ],
    },
    // Whom it is with, and a start for the mapping to override: a meeting must have one.
    appointments: ofContact('Meeting', { dateStart: '{{startAt}}' }),
    invoices: ofContact('Opportunity', {}),
  },
};

/** A type whose records belong to contacts. */
function ofContact(type: string, extra: Record<string, unknown>): Resource {
  // Lists show a link to several only where they are asked for it (Core/FieldProcessing/LinkMultiple/ListLoader.php).
  const select = { select: '{{fields}},contactsIds' };
  return { ...entity(type, { ...extra, contactsIds: ['{{contactId}}'] }, select), row: { contact: 'contactsIds' } };
}

/** One entity type; all are called alike. */
function entity(type: string, extra: Record<string, unknown>, select: Record<string, string> = {}): Resource {
  const body = { ...extra, '...': '{{properties}}' };
  // Members of a family share addresses and numbers: EspoCRM would refuse the second one as a duplicate.
  const headers = { 'X-Skip-Duplicate-Check': 'true' };
  return {
    keyField: 'cMirrorKey',
    stampField: 'cMirrorStamp',
    // Of the client (client/src/router.js); the API lies two steps below it.
    page: `../../#${type}/view/{{id}}`,
    find: {
      call: {
        method: 'GET',
        path: `/${type}`,
        query: {
          'where[0][type]': 'in',
          'where[0][attribute]': '{{keyField}}',
          'where[0][value][]': '{{keys}}',
          maxSize: 200,
          ...select,
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
      call: listing(type, {
        'where[0][type]': 'startsWith',
        'where[0][attribute]': '{{stampField}}',
        'where[0][value]': '{{ownerTag}}',
        ...select,
      }),
      rows: 'list',
      size: 200,
      paging: { by: 'offset', total: 'total' },
    },
    listAll: { call: listing(type, select) },
    fields: {
      call: { method: 'GET', path: '/Metadata', query: { key: `entityDefs.${type}.fields` } },
      at: '',
      type: 'type',
      longest: 'maxLength',
      required: 'required',
      forms: { email: 'email', phone: 'telephone', url: 'whole', enum: 'whole', link: 'whole' },
      options: { at: 'options' },
      endings: ENDINGS_OF_LINKS,
    },
  };
}

/** A list in the order of ids. */
function listing(type: string, filter: Record<string, string>): Resource['list']['call'] {
  const query = { ...filter, orderBy: 'id', order: 'asc', maxSize: '{{size}}', offset: '{{offset}}' };
  return { method: 'GET', path: `/${type}`, query };
}
