import type { ObjectTypeName } from './object-types.ts';
import type { Property, PropertyOption } from './property.ts';

type Line = [name: string, type: string, fieldType: string, more?: Partial<Property>];

const READ_ONLY: Partial<Property> = { readOnly: true };

/** Properties that every object has. */
const EVERYWHERE: Line[] = [
  ['hs_object_id', 'number', 'number', READ_ONLY],
  ['hs_merged_object_ids', 'enumeration', 'checkbox', READ_ONLY],
  ['hubspot_owner_id', 'enumeration', 'select', { externalOptions: true }],
  ['hs_object_source', 'string', 'text', READ_ONLY],
];

const BY_OBJECT: Record<ObjectTypeName, Line[]> = {
  visits: [
    ['hs_createdate', 'datetime', 'date', READ_ONLY],
    ['hs_lastmodifieddate', 'datetime', 'date', READ_ONLY],
    ['title', 'string', 'text'],
    ['starts', 'datetime', 'date'],
    ['ends', 'datetime', 'date'],
    ['state', 'string', 'text'],
  ],
  contacts: [
    ['createdate', 'datetime', 'date', READ_ONLY],
    ['lastmodifieddate', 'datetime', 'date', READ_ONLY],
    ['email', 'string', 'text'],
    ['hs_additional_emails', 'enumeration', 'checkbox', READ_ONLY],
    ['hs_email_optout', 'bool', 'booleancheckbox', { ...READ_ONLY, ...options('true', 'false') }],
    ['firstname', 'string', 'text'],
    ['lastname', 'string', 'text'],
    ['phone', 'string', 'phonenumber'],
    ['mobilephone', 'string', 'phonenumber'],
    ['address', 'string', 'text'],
    ['city', 'string', 'text'],
    ['state', 'string', 'text'],
    ['zip', 'string', 'text'],
    ['country', 'string', 'text'],
    ['company', 'string', 'text'],
    ['website', 'string', 'text'],
    ['jobtitle', 'string', 'text'],
    ['salutation', 'string', 'text'],
    ['date_of_birth', 'string', 'text'],
    ['gender', 'string', 'text'],
    ['hs_language', 'enumeration', 'select', options('de', 'en', 'es', 'fr', 'it', 'pt')],
    ['hs_legal_basis', 'enumeration', 'checkbox', options('Not applicable', 'Freely given consent from contact')],
    ['lifecyclestage', 'enumeration', 'radio', options('subscriber', 'lead', 'opportunity', 'customer', 'other')],
    ['hs_lead_status', 'enumeration', 'radio', options('NEW', 'OPEN', 'IN_PROGRESS', 'UNQUALIFIED', 'CONNECTED')],
  ],
  companies: [
    ['createdate', 'datetime', 'date', READ_ONLY],
    ['hs_lastmodifieddate', 'datetime', 'date', READ_ONLY],
    ['name', 'string', 'text'],
    ['domain', 'string', 'text'],
    ['phone', 'string', 'phonenumber'],
    ['city', 'string', 'text'],
  ],
  deals: [
    ['createdate', 'datetime', 'date', READ_ONLY],
    ['hs_lastmodifieddate', 'datetime', 'date', READ_ONLY],
    ['dealname', 'string', 'text'],
    ['amount', 'number', 'number'],
    ['closedate', 'datetime', 'date'],
    ['pipeline', 'enumeration', 'select', options('default')],
    [
      'dealstage',
      'enumeration',
      'radio',
      options('appointmentscheduled', 'qualifiedtobuy', 'contractsent', 'closedwon', 'closedlost'),
    ],
  ],
  meetings: [
    ['hs_createdate', 'datetime', 'date', READ_ONLY],
    ['hs_lastmodifieddate', 'datetime', 'date', READ_ONLY],
    ['hs_timestamp', 'datetime', 'date'],
    ['hs_meeting_title', 'string', 'text'],
    ['hs_meeting_body', 'string', 'html'],
    ['hs_internal_meeting_notes', 'string', 'html'],
    ['hs_meeting_location', 'string', 'text'],
    ['hs_meeting_external_url', 'string', 'text'],
    ['hs_meeting_start_time', 'datetime', 'date'],
    ['hs_meeting_end_time', 'datetime', 'date'],
    ['hs_activity_type', 'string', 'text'],
    [
      'hs_meeting_outcome',
      'enumeration',
      'select',
      options('SCHEDULED', 'COMPLETED', 'RESCHEDULED', 'NO_SHOW', 'CANCELED'),
    ],
  ],
};

/** Returns those standard properties of an object type that the sandbox supports. */
export function defaultProperties(object: ObjectTypeName, groupName: string): Property[] {
  return [...EVERYWHERE, ...BY_OBJECT[object]].map(([name, type, fieldType, more]) => ({
    name,
    label: name,
    type,
    fieldType,
    groupName,
    description: '',
    options: [],
    hasUniqueValue: false,
    hidden: false,
    formField: false,
    externalOptions: false,
    dataSensitivity: 'non_sensitive',
    hubspotDefined: true,
    readOnly: false,
    createdAt: undefined,
    ...more,
  }));
}

function options(...values: string[]): { options: PropertyOption[] } {
  return {
    options: values.map((value, displayOrder) => ({ label: value, value, displayOrder, hidden: false })),
  };
}
