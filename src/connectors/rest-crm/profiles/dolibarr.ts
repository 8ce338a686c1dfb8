import type { WrittenDescription } from '../description.ts';

type Resource = NonNullable<WrittenDescription['streams']['patients']>;

/** Columns of a contact (htdocs/install/mysql/tables/llx_socpeople.sql). A longer value fails the whole write. */
const LIMITS: Resource['limits'] = {
  lastname: { longest: 50, required: true },
  firstname: { longest: 50 },
  address: { longest: 255 },
  zip: { longest: 25, form: 'whole' },
  town: { longest: 255 },
  email: { longest: 255, form: 'email' },
  phone_pro: { longest: 30, form: 'whole' },
  phone_perso: { longest: 30, form: 'whole' },
  phone_mobile: { longest: 30, form: 'whole' },
};

/**
 * Dolibarr, contacts only. Sources:
 * - calls, pages from 0, and `te`, the name of the complementary attributes in a filter: github.com/Dolibarr/dolibarr
 *   htdocs/societe/class/api_contacts.class.php
 * - DOLAPIKEY and sqlfilters: wiki.dolibarr.org "Module Web Services API REST (developer)"
 *
 * Base URL: `https://…/api/index.php`; connection of kind api-key with the header DOLAPIKEY. Complementary attributes are in
 * `array_options` with `options_` before their code. A search without results returns 404 in older versions.
 *
 * Dolibarr stores an opt-out with the e-mail address, not with the contact (`setNoEmail` in the above file). An opt-out does not change the
 * contact, so no value serves as a version tag.
 *
 * A value that does not fit its column causes a 500 with MySQL's text (github.com/Dolibarr/dolibarr/issues/36407), which contains the
 * column. PostgreSQL's text does not, and columns of complementary attributes have different names.
 */
export const dolibarr: WrittenDescription = {
  errors: { fieldsInWords: [{ at: 'error.0', before: "for column '", after: "'" }] },
  values: { date: 'epoch-seconds', instant: 'epoch-seconds', boolean: 'number' },
  streams: {
    patients: {
      keyField: 'array_options.options_clinic_mirror_key',
      stampField: 'array_options.options_clinic_mirror_stamp',
      // htdocs/contact/card.php, next to htdocs/api/index.php.
      page: '../../contact/card.php?id={{id}}',
      limits: LIMITS,
      refusals: [{ property: 'no_email', by: 'email' }],
      find: {
        call: {
          method: 'GET',
          path: '/contacts',
          query: { sqlfilters: "(te.clinic_mirror_key:=:'{{key}}')", limit: 2 },
          nothing: [404],
        },
        listPath: '.',
      },
      get: { call: { method: 'GET', path: '/contacts/{{id}}', nothing: [404] } },
      create: { call: { method: 'POST', path: '/contacts', body: { '...': '{{properties}}' } }, id: '.' },
      update: {
        call: { method: 'PUT', path: '/contacts/{{id}}', body: { '...': '{{properties}}' }, nothing: [404] },
        recordPath: '.',
      },
      // Dolibarr deletes the database row (htdocs/contact/class/contact.class.php, delete) and has no recycle bin.
      delete: { call: { method: 'DELETE', path: '/contacts/{{id}}', nothing: [404] }, isForGood: true },
      list: {
        call: listing({ sqlfilters: "(te.clinic_mirror_stamp:like:'{{ownerTag}}%')" }),
        listPath: '.',
        paging: { style: 'page-size', startIndex: 0, size: 100 },
      },
      listAll: { call: listing({}) },
    },
  },
};

/** Returns a list call in the order of creation. */
function listing(filter: Record<string, string>): Resource['list']['call'] {
  const query = { ...filter, sortfield: 't.rowid', sortorder: 'ASC', limit: '{{size}}', page: '{{page}}' };
  return { method: 'GET', path: '/contacts', query, nothing: [404] };
}
