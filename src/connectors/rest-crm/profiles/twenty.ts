import type { WrittenDescription } from '../description.ts';

type Resource = NonNullable<WrittenDescription['streams']['patients']>;

/** Largest number of objects per response (github.com/twentyhq/twenty, open-api/utils/parameters.utils.ts). */
const PAGE_SIZE = 60;

/** Fields that Twenty validates (packages/twenty-server/src/engine/core-modules/record-transformer). */
const LIMITS: Resource['limits'] = {
  'emails.primaryEmail': { form: 'email' },
  'phones.primaryPhoneNumber': { form: 'telephone' },
};

/**
 * Twenty. Parameters and responses: github.com/twentyhq/twenty, packages/twenty-server/src/engine/core-modules/open-api/utils
 * (parameters.utils.ts, responses.utils.ts); overview: twenty.com/developers/rest-api.
 *
 * Base URL: `https://api.twenty.com/rest`; connection of kind bearer. Properties with several parts contain a dot: `name.firstName`.
 *
 * The primary e-mail address of a contact is unique, including deleted contacts (github.com/twentyhq/twenty/issues/9920). The response is a
 * 400 with a text that depends on the version (engine/twenty-orm, handleDuplicateKeyError). The text of a refused value ends in its field
 * (engine/api/common/common-args-processors/data-arg-processor/validator-utils).
 */
export const twenty: WrittenDescription = {
  errors: { fieldsInWords: [{ at: 'messages.0', before: 'field "', after: '"' }] },
  streams: {
    patients: { ...records({ one: 'person', many: 'people' }, {}), unique: ['emails.primaryEmail'], limits: LIMITS },
    invoices: {
      ...records({ one: 'opportunity', many: 'opportunities' }, { pointOfContactId: '{{contactId}}' }),
      row: { versionTag: 'updatedAt', contact: 'pointOfContactId' },
    },
  },
};

/** Returns the calls of one type of object; all types have equal calls, and responses contain the type's name. */
function records({ one, many }: { one: string; many: string }, extra: Record<string, unknown>): Resource {
  const title = one.charAt(0).toUpperCase() + one.slice(1);
  const body = { ...extra, '...': '{{properties}}' };
  return {
    keyField: 'clinicMirrorKey',
    stampField: 'clinicMirrorStamp',
    row: { versionTag: 'updatedAt' },
    find: {
      call: {
        method: 'GET',
        path: `/${many}`,
        query: { filter: '{{keyField}}[in]:[{{keys}}]', limit: PAGE_SIZE, depth: 0 },
      },
      listPath: `data.${many}`,
      size: PAGE_SIZE / 2,
      quote: '"',
    },
    get: {
      call: { method: 'GET', path: `/${many}/{{id}}`, query: { depth: 0 }, nothing: [404] },
      recordPath: `data.${one}`,
    },
    create: { call: { method: 'POST', path: `/${many}`, body }, recordPath: `data.create${title}` },
    update: {
      call: { method: 'PATCH', path: `/${many}/{{id}}`, body, nothing: [404] },
      recordPath: `data.update${title}`,
    },
    delete: { call: { method: 'DELETE', path: `/${many}/{{id}}`, nothing: [404] } },
    list: {
      call: listing(many, { filter: '{{stampField}}[startsWith]:"{{ownerTag}}"' }),
      listPath: `data.${many}`,
      paging: {
        style: 'cursor',
        cursorPath: 'pageInfo.endCursor',
        hasMorePath: 'pageInfo.hasNextPage',
        size: PAGE_SIZE,
      },
    },
    listAll: { call: listing(many, {}) },
    fields: {
      call: { method: 'GET', path: '/metadata/objects' },
      at: `data.objects[nameSingular=${one}].fields`,
      name: 'name',
      options: { at: 'options', value: 'value', label: 'label' },
    },
  };
}

/** Returns a list call in the order of ids. */
function listing(many: string, filter: Record<string, string>): Resource['list']['call'] {
  const query = { ...filter, order_by: 'id', limit: '{{size}}', starting_after: '{{cursor}}', depth: 0 };
  return { method: 'GET', path: `/${many}`, query };
}
