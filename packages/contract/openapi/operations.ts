import type { Access } from '../access.ts';
import { requestExamples } from '../examples.ts';
import type { Operation } from '../operation.ts';
import type { ResponseCollection } from './responses.ts';
import type { JsonSchema, SchemaCollection } from './schemas.ts';

/** The credentials a call takes; alternatives of one another. */
function security(access: Access): object[] {
  if (access.kind === 'public') return [{}];
  const person = [{ accessToken: [] }, { sessionCookie: [] }];
  return access.kind === 'organization' && access.scope ? [...person, { apiKey: [] }] : person;
}

function whoMay(access: Access): string {
  if (access.kind === 'public') return 'Anyone may call it.';
  if (access.kind === 'person') return 'Any signed-in person may call it; API keys may not.';
  const key = access.scope ? `an API key with \`${access.scope}\`` : 'never an API key';
  return `Needs the role \`${access.role}\` or higher, ${access.scope ? 'or ' : ''}${key}.`;
}

function describe(operation: Operation): string {
  const plan = operation.plan ? ` Included from the ${operation.plan} plan on.` : '';
  return `${operation.description}\n\n${whoMay(operation.access)}${plan}`;
}

function parameters(operation: Operation, place: 'path' | 'query', schemas: SchemaCollection): object[] {
  const source = place === 'path' ? operation.params : operation.query;
  if (!source) return [];
  return Object.entries(source.shape).map(([name, field]) => {
    const { description, ...schema } = schemas.convert(field as never, 'input') as JsonSchema & {
      description?: string;
    };
    const required =
      place === 'path' || !(field as { safeParse(value: unknown): { success: boolean } }).safeParse(undefined).success;
    return { name, in: place, required, ...(description && { description }), schema };
  });
}

function headerParameters(operation: Operation): object[] {
  const names: string[] = [];
  if (operation.access.kind === 'organization') names.push('OrganizationId');
  if (operation.idempotencyKey) names.push('IdempotencyKey');
  if (['PUT', 'PATCH', 'DELETE'].includes(operation.method)) names.push('IfMatch');
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

const exampleOf = (id: string): unknown => requestExamples[id as keyof typeof requestExamples];

function requestBody(operation: Operation, schemas: SchemaCollection) {
  if (!operation.body) return {};
  const schema = schemas.convert(operation.body, 'input');
  const examples = { sample: { value: exampleOf(operation.id) } };
  return { requestBody: { required: !operation.bodyOptional, content: { 'application/json': { schema, examples } } } };
}

export function describeOperation(
  operation: Operation,
  schemas: SchemaCollection,
  responses: ResponseCollection,
): object {
  const { access, plan } = operation;
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: describe(operation),
    security: security(access),
    ...(access.kind === 'organization' && { 'x-required-role': access.role, 'x-required-scope': access.scope }),
    ...(plan && { 'x-required-plan': plan }),
    parameters: [
      ...parameters(operation, 'path', schemas),
      ...parameters(operation, 'query', schemas),
      ...headerParameters(operation),
    ],
    ...requestBody(operation, schemas),
    responses: responses.of(operation),
  };
}
