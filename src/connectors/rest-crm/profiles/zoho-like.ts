import type { WrittenDescription } from '../description.ts';

type Resource = NonNullable<WrittenDescription['streams']['patients']>;

/** Objects per upsert (zoho.com/crm/developer/docs/api/v8/upsert-records.html). */
const UPSERT_SIZE = 100;
/** Objects per deletion (zoho.com/crm/developer/docs/api/v8/delete-records.html). */
const DELETION_SIZE = 100;
/** Values of one `in`, since version 7 (help.zoho.com, Kaizen 183: COQL API's enhancements in Zoho CRM API version 7). */
const VALUES_OF_IN = 100;
/** Objects per page (zoho.com/crm/developer/docs/api/v8/get-records.html). */
const PAGE_SIZE = 200;

/** Options of a field, including the stages of deals (zoho.com/crm/developer/docs/api/v8/field-meta.html). */
const PICK_LIST = { at: 'pick_list_values', value: 'actual_value', label: 'display_value' };

/**
 * Zoho CRM and compatible CRMs. Sources:
 * - upserts: zoho.com/crm/developer/docs/api/v8/upsert-records.html
 * - searches by COQL, which reads the objects and not the search index: …/v8/COQL-Overview.html
 * - fields: …/v8/field-meta.html
 * - codes: …/v8/status-codes.html
 *
 * Base URL: the account's `api_domain` with `/crm/v8`, such as `https://www.zohoapis.eu/crm/v8`. Upserts compare only the key: without this
 * parameter, Zoho treats contacts with a shared e-mail address as one contact.
 */
export const zohoLike: WrittenDescription = {
  scheme: 'Zoho-oauthtoken',
  values: { instant: 'iso-offset' },
  errors: {
    codePaths: ['code', 'data[status=error].code'],
    detailPaths: ['details.api_name', 'data[status=error].details.api_name'],
    present: ['data[status=error]'],
    codes: {
      INVALID_TOKEN: 'login',
      AUTHENTICATION_FAILURE: 'login',
      OAUTH_SCOPE_MISMATCH: 'forbidden',
      NO_PERMISSION: 'forbidden',
      TOO_MANY_REQUESTS: 'throttled',
      INTERNAL_ERROR: 'retry',
      INVALID_DATA: 'refused',
      MANDATORY_NOT_FOUND: 'refused',
      DUPLICATE_DATA: 'refused',
    },
  },
  // By default, Zoho runs workflows, approvals and blueprints after a write (help.zoho.com, Kaizen 33: inserts, updates and upserts).
  withoutAutomations: { trigger: [] },
  streams: {
    patients: {
      ...records('Contacts', {}),
      upsert: upsert('Contacts', {}),
      refusals: [{ property: 'Email_Opt_Out' }],
    },
    // Meetings have no upsert.
    appointments: records('Events', { Start_DateTime: '{{startAt}}', Who_Id: { id: '{{contactId}}' } }, 'Who_Id'),
    invoices: {
      ...records('Deals', { Contact_Name: { id: '{{contactId}}' } }, 'Contact_Name'),
      upsert: upsert('Deals', { Contact_Name: { id: '{{contactId}}' } }),
    },
  },
};

/** Returns the calls of one module; all modules have equal calls. @param contact field that refers to the contact */
function records(module: string, extra: Record<string, unknown>, contact?: string): Resource {
  const body = { data: [{ ...extra, '...': '{{properties}}' }] };
  return {
    keyField: 'Clinic_Mirror_Key',
    stampField: 'Clinic_Mirror_Stamp',
    row: { versionTag: 'Modified_Time', ...(contact === undefined ? {} : { contact }) },
    find: {
      call: {
        method: 'POST',
        path: '/coql',
        body: { select_query: `select {{fields}} from ${module} where {{keyField}} in ({{keys}}) limit ${PAGE_SIZE}` },
      },
      listPath: 'data',
      size: VALUES_OF_IN,
      quote: "'",
    },
    get: { call: { method: 'GET', path: `/${module}/{{id}}`, nothing: [404] }, recordPath: 'data' },
    create: { call: { method: 'POST', path: `/${module}`, body }, id: 'data[status=success].details.id' },
    update: { call: { method: 'PUT', path: `/${module}/{{id}}`, body, nothing: [404] } },
    delete: { call: { method: 'DELETE', path: `/${module}/{{id}}`, nothing: [404] } },
    deleteMany: {
      call: { method: 'DELETE', path: `/${module}`, query: { ids: '{{ids}}' }, partial: true },
      size: DELETION_SIZE,
      separator: ',',
      listPath: 'data',
      status: 'status',
      taken: ['success'],
      id: 'details.id',
    },
    list: {
      call: {
        method: 'GET',
        path: `/${module}`,
        query: {
          fields: contact === undefined ? '{{fields}}' : `{{fields}},${contact}`,
          sort_by: 'id',
          sort_order: 'asc',
          per_page: '{{size}}',
          page_token: '{{cursor}}',
        },
      },
      listPath: 'data',
      paging: {
        style: 'cursor',
        cursorPath: 'info.next_page_token',
        hasMorePath: 'info.more_records',
        size: PAGE_SIZE,
      },
    },
    fields: {
      call: { method: 'GET', path: '/settings/fields', query: { module } },
      at: 'fields',
      name: 'api_name',
      type: 'data_type',
      longest: 'length',
      required: 'system_mandatory',
      forms: { email: 'email', phone: 'whole', website: 'whole', picklist: 'whole' },
      options: PICK_LIST,
    },
  };
}

function upsert(module: string, extra: Record<string, unknown>): NonNullable<Resource['upsert']> {
  return {
    call: {
      method: 'POST',
      path: `/${module}/upsert`,
      body: { data: '{{rows}}', duplicate_check_fields: ['{{keyField}}'] },
      partial: true,
    },
    body: { ...extra, '...': '{{properties}}' },
    size: UPSERT_SIZE,
    listPath: 'data',
    status: 'status',
    taken: ['success'],
    id: 'details.id',
    effect: 'action',
    created: 'insert',
  };
}
