import { address } from './common.ts';
import { field, type Shape } from './fields.ts';

const { id, text, word, choice, flag, whole, decimal, instant, needed, record } = field;

/** A site of the clinic. */
export const location = {
  id: needed(id('id')),
  name: needed(text('name')),
  code: id('code'),
  street: text('address.street'),
  postalCode: text('address.postalCode'),
  city: text('address.city'),
  province: text('address.province'),
  country: text('address.country'),
  phone: text('phone'),
  email: text('email'),
  zone: text('timeZone'),
  isActive: flag('isActive'),
} satisfies Shape;

/** A calendar of a doctor, a resource or a workstation. */
export const agenda = {
  id: needed(id('id')),
  name: needed(text('name')),
  type: choice(['Doctor', 'Resource', 'Workstation'], 'type'),
  doctorId: id('doctor.id'),
  locationId: id('locationId'),
  zone: text('timeZone'),
  slotMinutes: whole('slotMinutes'),
  isBookableOnline: flag('isBookableOnline'),
  isActive: flag('isActive'),
} satisfies Shape;

/** A service or product of the catalogue. */
export const treatment = {
  id: needed(id('id')),
  code: id('code'),
  name: needed(text('name')),
  description: text('description'),
  category: text('category'),
  durationMinutes: whole('durationMinutes'),
  type: choice(['Service', 'Product'], 'type'),
  isBookableOnline: flag('isBookableOnline'),
  isActive: flag('isActive'),
  vatRate: decimal('vatRate'),
  vatExemptionCode: word('vatExemptionCode'),
  updatedAt: instant('updatedAt'),
} satisfies Shape;

/** General facts of a tenant. */
export const tenantInfo = {
  id: id('tenantId', 'id'),
  name: text('businessName', 'name'),
  vatNumber: id('vatNumber'),
  taxCode: id('taxCode'),
  phone: text('phone'),
  email: text('email'),
  certifiedEmail: text('certifiedEmail'),
  website: text('website'),
  zone: text('timeZone'),
  currency: word('currency'),
  address: record(address, 'address'),
} satisfies Shape;

/** A slot that can be booked; it has no id, agenda and start name it. */
export const availability = {
  agendaId: needed(id('agendaId')),
  locationId: id('locationId'),
  doctorId: id('doctorId'),
  startAt: needed(instant('start')),
  endAt: instant('end'),
  durationMinutes: whole('durationMinutes'),
  treatmentId: id('treatmentId'),
  priceListId: id('priceListId'),
  price: decimal('price'),
  currency: word('currency'),
} satisfies Shape;
