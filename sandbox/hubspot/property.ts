/** One value that an enumeration allows. */
export interface PropertyOption {
  label: string;
  value: string;
  displayOrder: number;
  hidden: boolean;
}

/** Sensitivity of a property's values. The second and third level require certain accounts and scopes. */
export type Sensitivity = 'non_sensitive' | 'sensitive' | 'highly_sensitive';

/** A property of an object type. */
export interface Property {
  name: string;
  label: string;
  type: string;
  fieldType: string;
  groupName: string;
  description: string;
  options: PropertyOption[];
  hasUniqueValue: boolean;
  hidden: boolean;
  formField: boolean;
  externalOptions: boolean;
  dataSensitivity: Sensitivity;
  hubspotDefined: boolean;
  /** Only the vendor sets the value. */
  readOnly: boolean;
  /** Epoch ms; undefined for standard properties. */
  createdAt: number | undefined;
}

/** Attributes with which a property is created. */
export type NewProperty = Pick<Property, 'name' | 'label' | 'type' | 'fieldType' | 'groupName'> & Partial<Property>;
