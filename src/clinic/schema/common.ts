import { field, type Shape } from './fields.ts';

const { text, instant } = field;

/** When a record was made and changed. */
export const changes = { createdAt: instant('createdAt'), updatedAt: instant('updatedAt') } satisfies Shape;

/** A postal address. */
export const address = {
  street: text('street'),
  city: text('city'),
  province: text('province'),
  postalCode: text('postalCode'),
  country: text('country'),
} satisfies Shape;
