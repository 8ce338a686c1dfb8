import type { WrittenDescription } from '../description.ts';

type Resource = NonNullable<WrittenDescription['streams']['patients']>;

/** Suffixes of the values of a link, after its name (github.com/espocrm/espocrm, Resources/metadata/fields/link.json and others). */
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
 * EspoCRM. Sources:
 * - lists, objects and X-Skip-Duplicate-Check: docs.espocrm.com/development/api/crud
 * - filters: docs.espocrm.com/development/api-search-params
 * - X-Api-Key and date-times in UTC: docs.espocrm.com/development/api
 *
 * Base URL: `https://…/api/v1`; connection of kind api-key with the header X-Api-Key. Custom fields begin with `c`.
 *
 * No value serves as a version tag: `modifiedAt` has whole seconds, and does not change with the opt-out of a shared e-mail address.
 * EspoCRM stores opt-outs with the e-mail address and telephone number, not with the contact (Core/FieldProcessing/EmailAddress/Saver.php,
 * markAddressOptedOut).
 */
export const espocrm: WrittenDescription = {
  values: { instant: 'sql' },
  errors: { detailPaths: ['messageTranslation.data.field'] },
  streams: {
    patients: {
      ...entity('Contact', {}),
      refusals: [
        { property: 'emailAddressIsOptedOut', by: 'emailAddress' },
        { property: 'phoneNumberIsOptedOut', by: 'phoneNumber' },
        { property: 'doNotCall' },
      ],
    },
    // EspoCRM requires a start for a meeting, which the mapping may override.
    appointments: ofContact('Meeting', { dateStart: '{{startAt}}' }),
    invoices: ofContact('Opportunity', {}),
  },
};

/** Returns the calls of a type whose objects belong to contacts. */
function ofContact(type: string, extra: Record<string, unknown>): Resource {
  // Lists contain a link to several objects only if the request selects it (Core/FieldProcessing/LinkMultiple/ListLoader.php).
  const select = { select: '{{fields}},contactsIds' };
  return { ...entity(type, { ...extra, contactsIds: ['{{contactId}}'] }, select), row: { contact: 'contactsIds' } };
}

/** Returns the calls of one entity type; all types have equal calls. */
function entity(type: string, extra: Record<string, unknown>, select: Record<string, string> = {}): Resource {
  const body = { ...extra, '...': '{{properties}}' };
  // Family members share e-mail addresses and telephone numbers, which EspoCRM would refuse as duplicates.
  const headers = { 'X-Skip-Duplicate-Check': 'true' };
  return {
    keyField: 'cMirrorKey',
    stampField: 'cMirrorStamp',
    // Page of the web client (client/src/router.js), two levels above the API.
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
      listPath: 'list',
      size: 50,
    },
    get: { call: { method: 'GET', path: `/${type}/{{id}}`, nothing: [404] } },
    create: { call: { method: 'POST', path: `/${type}`, headers, body }, recordPath: '.' },
    update: { call: { method: 'PUT', path: `/${type}/{{id}}`, headers, body, nothing: [404] }, recordPath: '.' },
    delete: { call: { method: 'DELETE', path: `/${type}/{{id}}`, nothing: [404] } },
    list: {
      call: listing(type, {
        'where[0][type]': 'startsWith',
        'where[0][attribute]': '{{stampField}}',
        'where[0][value]': '{{ownerTag}}',
        ...select,
      }),
      listPath: 'list',
      paging: { style: 'offset-limit', totalPath: 'total', size: 200 },
    },
    listAll: { call: listing(type, select) },
    fields: {
      call: { method: 'GET', path: '/Metadata', query: { key: `entityDefs.${type}.fields` } },
      at: '.',
      type: 'type',
      longest: 'maxLength',
      required: 'required',
      forms: { email: 'email', phone: 'telephone', url: 'whole', enum: 'whole', link: 'whole' },
      options: { at: 'options' },
      endings: ENDINGS_OF_LINKS,
    },
  };
}

/** Returns a list call in the order of ids. */
function listing(type: string, filter: Record<string, string>): Resource['list']['call'] {
  const query = { ...filter, orderBy: 'id', order: 'asc', maxSize: '{{size}}', offset: '{{offset}}' };
  return { method: 'GET', path: `/${type}`, query };
}
