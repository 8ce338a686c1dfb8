/** One value that an enumeration allows. */
export interface PropertyOption {
  label: string;
  value: string;
  displayOrder: number;
  hidden: boolean;
}

/** How much care a property's values need; only some accounts and scopes may use the latter two. */
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
  /** Epoch ms; undefined for the vendor's own. */
  createdAt: number | undefined;
}

/** What a new property is made of. */
export type NewProperty = Pick<Property, 'name' | 'label' | 'type' | 'fieldType' | 'groupName'> & Partial<Property>;
