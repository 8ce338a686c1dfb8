import type { Ids } from './ids.ts';
import type { People } from './people.ts';
import type { Random } from './random.ts';
import type { Agenda, Location, Tenant, TenantInfo, Treatment } from './records.ts';
import type { Zone } from './zone.ts';

const SPECIALTIES = [
  'Cardiologia',
  'Dermatologia',
  'Ortopedia',
  'Oculistica',
  'Ginecologia',
  'Pediatria',
  'Neurologia',
];
const DEVICES = ['Ecografo', 'Elettrocardiografo', 'Risonanza magnetica', 'Sala prelievi', 'Palestra riabilitativa'];
const COLORS = ['#3366cc', '#dc3912', '#ff9900', '#109618', '#990099', '#0099c6'];

const TREATMENTS: ReadonlyArray<[name: string, category: string, minutes: number, type: Treatment['type']]> = [
  ['Visita specialistica', 'Visite', 30, 'Service'],
  ['Visita di controllo', 'Visite', 15, 'Service'],
  ['Ecografia addome completo', 'Diagnostica', 30, 'Service'],
  ['Elettrocardiogramma', 'Diagnostica', 15, 'Service'],
  ['Prelievo ematico', 'Laboratorio', 15, 'Service'],
  ['Seduta di fisioterapia', 'Riabilitazione', 45, 'Service'],
  ['Mappatura dei nei', 'Dermatologia', 30, 'Service'],
  ['Medicazione', 'Ambulatorio', 15, 'Service'],
  ['Infiltrazione articolare', 'Ortopedia', 30, 'Service'],
  ['Consulto psicologico', 'Psicologia', 60, 'Service'],
  ['Plantare su misura', 'Prodotti', 30, 'Product'],
];

/** What a tenant's catalogue is made from. */
export interface CatalogueSources {
  ids: Ids;
  people: People;
  random: Random;
  zone: Zone;
  /** Epoch ms. */
  now: number;
}

/** Invents one clinic with `agendaCount` agendas. */
export function createTenant(sources: CatalogueSources, name: string | undefined, agendaCount: number): Tenant {
  const id = sources.ids.next('tnt');
  const businessName = name ?? `Poliambulatorio ${sources.people.name().lastName}`;
  const locations = Array.from({ length: agendaCount > 6 ? 3 : 2 }, (_, index) => createLocation(sources, index));
  return {
    id,
    name: businessName,
    info: createInfo(sources, id, businessName),
    locations,
    agendas: Array.from({ length: agendaCount }, (_, index) => createAgenda(sources, locations, index)),
    treatments: TREATMENTS.map((_, index) => createTreatment(sources, index)),
  };
}

function createInfo({ people, random, zone }: CatalogueSources, tenantId: string, businessName: string): TenantInfo {
  const vatNumber = String(random.integer(10_000_000_000, 19_999_999_999));
  return {
    tenantId,
    businessName,
    address: people.address(),
    vatNumber,
    taxCode: vatNumber,
    phone: people.phone(),
    email: 'info@example.com',
    certifiedEmail: 'info@pec.example.com',
    website: 'https://clinic.example.com',
    timeZone: zone.name,
    currency: 'EUR',
    configuration: { onlineBooking: true, defaultSlotMinutes: 15 },
  };
}

function createLocation({ ids, people, zone }: CatalogueSources, index: number): Location {
  const address = people.address();
  return {
    id: ids.next('loc'),
    name: `Sede di ${address.city}`,
    code: `S${index + 1}`,
    address,
    phone: people.phone(),
    email: `sede${index + 1}@example.com`,
    timeZone: zone.name,
    isActive: true,
  };
}

function createAgenda({ ids, people, random }: CatalogueSources, locations: Location[], index: number): Agenda {
  const type = index % 5 === 3 ? 'Resource' : index % 9 === 4 ? 'Workstation' : 'Doctor';
  const doctor = type === 'Doctor' ? { id: ids.next('doc'), ...people.name() } : null;
  return {
    id: ids.next('agd'),
    name: agendaName(type, doctor, random, index),
    type,
    doctor,
    locationId: random.pick(locations).id,
    color: random.pick(COLORS),
    slotMinutes: 15,
    isBookableOnline: type === 'Doctor',
    isActive: true,
  };
}

function agendaName(type: Agenda['type'], doctor: Agenda['doctor'], random: Random, index: number): string {
  if (doctor !== null) return `Dott. ${doctor.firstName} ${doctor.lastName}, ${random.pick(SPECIALTIES)}`;
  return type === 'Resource' ? `${random.pick(DEVICES)} ${index + 1}` : `Accettazione ${index + 1}`;
}

function createTreatment({ ids, zone, now }: CatalogueSources, index: number): Treatment {
  const [name, category, durationMinutes, type] = TREATMENTS[index] ?? ['Visita', 'Visite', 30, 'Service'];
  return {
    id: ids.next('trt'),
    code: `PR${String(index + 1).padStart(3, '0')}`,
    name,
    description: null,
    category,
    durationMinutes,
    type,
    isBookableOnline: index % 2 === 0,
    isActive: true,
    vatRate: type === 'Product' ? 22 : 0,
    vatExemptionCode: type === 'Product' ? null : 'Art10_n18',
    updatedAt: zone.formatInstant(now - 30 * 86_400_000),
  };
}
