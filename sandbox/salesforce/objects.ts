import type { FieldOptions } from './fields.ts';

/** An object that exists in every org. */
export interface StandardObject {
  name: string;
  /** First three characters of its ids. */
  keyPrefix: string;
  fields: FieldOptions[];
  /** Records of the object can be merged, and have MasterRecordId. */
  mergeable?: boolean;
  /** The object cannot be written. */
  readOnly?: boolean;
}

const text = (name: string, length = 255): FieldOptions => ({ name, type: 'string', length });
const phone = (name: string): FieldOptions => ({ name, type: 'phone' });
const address = (prefix: string): FieldOptions[] => [
  { name: `${prefix}Street`, type: 'textarea', length: 255 },
  text(`${prefix}City`, 40),
  text(`${prefix}State`, 80),
  text(`${prefix}PostalCode`, 20),
  text(`${prefix}Country`, 80),
];

const NAMES: FieldOptions[] = [text('FirstName', 40), { ...text('LastName', 80), required: true }];

/** Fields of a contact that the contact's Person Account shows under `Person…`. */
const PERSON: FieldOptions[] = [
  { name: 'Email', type: 'email' },
  phone('MobilePhone'),
  phone('HomePhone'),
  { name: 'Birthdate', type: 'date' },
  ...address('Mailing'),
  { name: 'HasOptedOutOfEmail', type: 'boolean' },
  { name: 'DoNotCall', type: 'boolean' },
];

const CONTACT: StandardObject = {
  name: 'Contact',
  keyPrefix: '003',
  mergeable: true,
  fields: [
    ...NAMES,
    { ...text('Name', 121), readOnly: true },
    text('Salutation', 40),
    text('Title', 128),
    phone('Phone'),
    ...PERSON,
    ...address('Other'),
    text('LeadSource', 255),
    { name: 'Description', type: 'textarea' },
    { name: 'AccountId', type: 'reference', referenceTo: ['Account'], relationshipName: 'Account', cascades: true },
    { name: 'IndividualId', type: 'reference', referenceTo: ['Individual'], relationshipName: 'Individual' },
  ],
};

/** Privacy preferences of an individual (Object Reference, Individual). */
const INDIVIDUAL: StandardObject = {
  name: 'Individual',
  keyPrefix: '0PK',
  fields: [
    ...NAMES,
    ...['Solicit', 'Processing', 'Profiling', 'Tracking', 'GeoTracking'].map((what): FieldOptions => {
      return { name: `HasOptedOut${what}`, type: 'boolean' };
    }),
    { name: 'ShouldForget', type: 'boolean' },
  ],
};

const ACCOUNT: StandardObject = {
  name: 'Account',
  keyPrefix: '001',
  mergeable: true,
  fields: [
    { ...text('Name', 255), required: true },
    phone('Phone'),
    { name: 'Website', type: 'url' },
    { name: 'Type', type: 'picklist', values: ['Customer', 'Prospect', 'Other'] },
    ...address('Billing'),
    ...address('Shipping'),
    { name: 'Description', type: 'textarea' },
    { name: 'ParentId', type: 'reference', referenceTo: ['Account'], relationshipName: 'Parent' },
  ],
};

const EVENT: StandardObject = {
  name: 'Event',
  keyPrefix: '00U',
  fields: [
    { name: 'WhoId', type: 'reference', referenceTo: ['Contact'], relationshipName: 'Who', cascades: true },
    {
      name: 'WhatId',
      type: 'reference',
      referenceTo: ['Account', 'Opportunity'],
      relationshipName: 'What',
      cascades: true,
    },
    text('Subject'),
    text('Location'),
    { name: 'StartDateTime', type: 'datetime', required: true },
    { name: 'EndDateTime', type: 'datetime' },
    { name: 'DurationInMinutes', type: 'int' },
    { name: 'IsAllDayEvent', type: 'boolean' },
    { name: 'IsPrivate', type: 'boolean' },
    { name: 'ShowAs', type: 'picklist', values: ['Busy', 'Free', 'OutOfOffice'], restricted: true },
    { name: 'Description', type: 'textarea' },
  ],
};

const OPPORTUNITY: StandardObject = {
  name: 'Opportunity',
  keyPrefix: '006',
  fields: [
    { ...text('Name', 120), required: true },
    { name: 'StageName', type: 'picklist', required: true, values: ['Prospecting', 'Closed Won', 'Closed Lost'] },
    { name: 'CloseDate', type: 'date', required: true },
    { name: 'Amount', type: 'currency' },
    { name: 'AccountId', type: 'reference', referenceTo: ['Account'], relationshipName: 'Account', cascades: true },
    { name: 'Description', type: 'textarea' },
  ],
};

const USER: StandardObject = {
  name: 'User',
  keyPrefix: '005',
  readOnly: true,
  fields: [
    text('Username', 80),
    text('Name', 121),
    { name: 'Email', type: 'email' },
    { name: 'IsActive', type: 'boolean' },
  ],
};

const RECORD_TYPE: StandardObject = {
  name: 'RecordType',
  keyPrefix: '012',
  readOnly: true,
  fields: [
    text('Name', 80),
    text('DeveloperName', 80),
    text('SobjectType', 40),
    { name: 'IsPersonType', type: 'boolean' },
    { name: 'IsActive', type: 'boolean' },
  ],
};

const ORGANIZATION: StandardObject = {
  name: 'Organization',
  keyPrefix: '00D',
  readOnly: true,
  fields: [text('Name', 80), { name: 'IsSandbox', type: 'boolean' }],
};

/** Additional fields of an account if the Person Accounts feature is on. The contact's custom fields are added as `__pc`. */
const PERSON_ACCOUNT: FieldOptions[] = [
  ...NAMES.map((field) => ({ ...field, required: false })),
  ...PERSON.map((field) => ({ ...field, name: `Person${field.name}` })),
  { name: 'PersonContactId', type: 'reference', referenceTo: ['Contact'], readOnly: true },
  { name: 'IsPersonAccount', type: 'boolean', readOnly: true },
  { name: 'RecordTypeId', type: 'reference', referenceTo: ['RecordType'], relationshipName: 'RecordType' },
];

/** Returns every object of the org, with the given custom fields. */
export function objectsOf(customFields: Record<string, FieldOptions[]>, personAccounts: boolean): StandardObject[] {
  const account = [...ACCOUNT.fields, ...(customFields.Account ?? [])];
  const person = (customFields.Contact ?? []).map((field) => ({ ...field, name: field.name.replace(/__c$/, '__pc') }));
  const contact = personAccounts ? [{ name: 'IsPersonAccount', type: 'boolean', readOnly: true } as const] : [];
  return [
    { ...CONTACT, fields: [...CONTACT.fields, ...contact, ...(customFields.Contact ?? [])] },
    { ...ACCOUNT, fields: personAccounts ? [...account, ...PERSON_ACCOUNT, ...person] : account },
    { ...INDIVIDUAL, fields: [...INDIVIDUAL.fields, ...(customFields.Individual ?? [])] },
    { ...EVENT, fields: [...EVENT.fields, ...(customFields.Event ?? [])] },
    { ...OPPORTUNITY, fields: [...OPPORTUNITY.fields, ...(customFields.Opportunity ?? [])] },
    USER,
    RECORD_TYPE,
    ORGANIZATION,
  ];
}
