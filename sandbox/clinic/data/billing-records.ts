import type { Address } from './records.ts';

export interface Price {
  treatmentId: string;
  price: number;
  vatRate: number;
  vatExemptionCode: string | null;
}

/** Dates are `YYYY-MM-DD`. */
export interface PriceList {
  id: string;
  code: string;
  name: string;
  validFrom: string;
  validTo: string | null;
  isDefault: boolean;
  isActive: boolean;
  currency: string;
  prices: Price[];
}

/** A numbering series ("sezionale"). */
export interface Section {
  id: string;
  code: string;
  name: string;
  issuerId: string;
  year: number;
  lastNumber: number;
  lastDate: string | null;
  nextNumber: number;
  isElectronic: boolean;
  isActive: boolean;
}

export interface Issuer {
  id: string;
  businessName: string;
  vatNumber: string;
  taxCode: string;
  address: Address;
  taxRegime: string;
  isDefault: boolean;
}

export interface LinkedPractice {
  episodeId: string;
  practiceId: string;
}

export interface InvoiceItem {
  id: string;
  description: string;
  quantity: number;
  unitPrice: number;
  discount: number;
  netAmount: number;
  vatRate: number;
  vatExemptionCode: string | null;
  vatAmount: number;
  totalAmount: number;
  /** Left out, null and empty all mean that the line belongs to no practice. */
  LinkedPractices?: LinkedPractice[] | null;
}

export interface Reimbursement {
  id: string;
  amount: number;
  date: string;
  payer: string | null;
  method: string | null;
  reference: string | null;
  notes: string | null;
}

export const DOCUMENT_TYPES = ['Invoice', 'CreditNote', 'Receipt'] as const;
export const INVOICE_STATUSES = ['Draft', 'Issued', 'PartiallyPaid', 'Paid', 'Cancelled'] as const;

/** Amounts are euros with two decimals. */
export interface Invoice {
  id: string;
  number: string;
  sectionId: string;
  issuerId: string;
  documentType: (typeof DOCUMENT_TYPES)[number];
  issueDate: string;
  dueDate: string | null;
  patientId: string;
  customer: { name: string; taxCode: string | null; vatNumber: string | null; address: Address | null };
  status: (typeof INVOICE_STATUSES)[number];
  currency: string;
  netAmount: number;
  vatAmount: number;
  stampDuty: number;
  withholdingTax: number;
  totalAmount: number;
  paidAmount: number;
  reimbursedAmount: number;
  Items: InvoiceItem[];
  payments: { amount: number; method: string; paidAt: string }[];
  reimbursements: Reimbursement[];
}

/** The codes of VAT exemption that the specification lists (section 2.4); others may come and pass unchanged. */
export const VAT_EXEMPTION_CODES = [
  'Art10_n18',
  'Art1_Comma58_Legge190_2014',
  'Art1_Comma100_Legge244_2007',
  'Art13',
  'Art10_Comma1_n20',
  'Art10_n20',
  'ART17_DPR_633_1972',
  'Art10_Comma8_633_1972',
  'Art124_DL_34_2020',
  'Art10_nda1a9',
  'Art1_Comma452_Legge178_2020',
  'Art10_Comma1_N27_quinquies',
  'Art10_Punto21_DPR_633_1972',
  'Art8_CommaC_DPR633_72',
  'Art2_Comma3_LetteraA_DPR633_1972',
  'Art8_Comma35_L_67_1988',
  'Art8_Co2',
  'Art26_DPR633_72',
] as const;

/** A code that no list names: one seeded invoice line per tenant has it. */
export const UNLISTED_VAT_CODE = 'Art99_NonInElenco';

/** What an invoice's items add up to. */
export type Totals = Pick<Invoice, 'netAmount' | 'vatAmount' | 'stampDuty' | 'totalAmount'>;

/** Rounds to cents. */
export function cents(amount: number): number {
  return Math.round((amount + Number.EPSILON) * 100) / 100;
}

/** The amounts of one line. */
export function itemAmounts(
  item: Pick<InvoiceItem, 'quantity' | 'unitPrice' | 'discount' | 'vatRate'>,
): Pick<InvoiceItem, 'netAmount' | 'vatAmount' | 'totalAmount'> {
  const netAmount = cents(item.quantity * item.unitPrice - item.discount);
  const vatAmount = cents((netAmount * item.vatRate) / 100);
  return { netAmount, vatAmount, totalAmount: cents(netAmount + vatAmount) };
}

/** Sums of all lines; 2 euros of stamp duty are due above 77.47 euros without VAT (Italian DPR 642/1972, tariff article 13). */
export function totalsOf(items: readonly InvoiceItem[]): Totals {
  const netAmount = cents(items.reduce((sum, item) => sum + item.netAmount, 0));
  const vatAmount = cents(items.reduce((sum, item) => sum + item.vatAmount, 0));
  const exempt = items.filter((item) => item.vatRate === 0).reduce((sum, item) => sum + item.netAmount, 0);
  const stampDuty = exempt > 77.47 ? 2 : 0;
  return { netAmount, vatAmount, stampDuty, totalAmount: cents(netAmount + vatAmount + stampDuty) };
}
