import { address, changes } from './common.ts';
import { field, type Shape } from './fields.ts';

const { id, text, word, choice, flag, whole, decimal, date, instant, needed, record, list } = field;

/** Prices of treatments for a time. */
export const priceList = {
  id: needed(id('id')),
  code: id('code'),
  name: text('name'),
  validFrom: date('validFrom'),
  validTo: date('validTo'),
  isDefault: flag('isDefault'),
  isActive: flag('isActive'),
  currency: word('currency'),
  prices: list(
    {
      treatmentId: needed(id('treatmentId')),
      price: decimal('price'),
      vatRate: decimal('vatRate'),
      vatExemptionCode: word('vatExemptionCode'),
    },
    'prices',
  ),
} satisfies Shape;

/** Where an invoice line comes from; both names are the specification's (section 2.2). */
const linkedPractice = { episodeId: id('episodeId'), practiceId: id('practiceId') } satisfies Shape;

/** A line of an invoice. */
const invoiceItem = {
  id: id('id'),
  description: text('description'),
  quantity: decimal('quantity'),
  unitPrice: decimal('unitPrice'),
  discount: decimal('discount'),
  netAmount: decimal('netAmount'),
  vatRate: decimal('vatRate'),
  vatExemptionCode: word('vatExemptionCode'),
  vatAmount: decimal('vatAmount'),
  totalAmount: decimal('totalAmount'),
  linkedPractices: list(linkedPractice, 'LinkedPractices', 'linkedPractices'),
} satisfies Shape;

/** What somebody pays back of an invoice. */
export const reimbursement = {
  id: id('id'),
  amount: decimal('amount'),
  date: date('date'),
  payer: text('payer'),
  method: word('method'),
  reference: text('reference'),
  notes: text('notes'),
} satisfies Shape;

/** A billing document. Codes of VAT exemption (section 2.4) are kept as they come, unknown ones too. */
export const invoice = {
  id: needed(id('id')),
  number: id('number'),
  sectionId: id('sectionId'),
  issuerId: id('issuerId'),
  documentType: choice(['Invoice', 'CreditNote', 'Receipt'], 'documentType'),
  issueDate: date('issueDate'),
  dueDate: date('dueDate'),
  patientId: id('patientId'),
  customer: record(
    { name: text('name'), taxCode: id('taxCode'), vatNumber: id('vatNumber'), address: record(address, 'address') },
    'customer',
  ),
  status: choice(['Draft', 'Issued', 'PartiallyPaid', 'Paid', 'Cancelled'], 'status'),
  currency: word('currency'),
  netAmount: decimal('netAmount'),
  vatAmount: decimal('vatAmount'),
  stampDuty: decimal('stampDuty'),
  withholdingTax: decimal('withholdingTax'),
  totalAmount: decimal('totalAmount'),
  paidAmount: decimal('paidAmount'),
  reimbursedAmount: decimal('reimbursedAmount'),
  items: list(invoiceItem, 'Items', 'items'),
  payments: list({ amount: decimal('amount'), method: word('method'), paidAt: instant('paidAt') }, 'payments'),
  reimbursements: list(reimbursement, 'reimbursements'),
  ...changes,
} satisfies Shape;

/** A numbering series of invoices. */
export const section = {
  id: needed(id('id')),
  code: id('code'),
  name: text('name'),
  issuerId: id('issuerId'),
  year: whole('year'),
  lastNumber: whole('lastNumber'),
  lastDate: date('lastDate'),
  nextNumber: whole('nextNumber'),
  isElectronic: flag('isElectronic'),
  isActive: flag('isActive'),
} satisfies Shape;

/** Who issues invoices. */
export const issuer = {
  id: needed(id('id')),
  businessName: text('businessName'),
  vatNumber: id('vatNumber'),
  taxCode: id('taxCode'),
  address: record(address, 'address'),
  taxRegime: word('taxRegime'),
  isDefault: flag('isDefault'),
} satisfies Shape;
