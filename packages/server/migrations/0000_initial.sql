CREATE TABLE "idempotency_keys" (
	"scope" text NOT NULL,
	"caller" text NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"locked_until" timestamp (3) with time zone,
	"status" integer,
	"headers" jsonb,
	"body" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_scope_caller_key_pk" PRIMARY KEY("scope","caller","key")
);
--> statement-breakpoint
ALTER TABLE "idempotency_keys" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "installation_secrets" (
	"name" text PRIMARY KEY NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "installation_secrets" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "outbox_events" (
	"id" text PRIMARY KEY NOT NULL,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "outbox_events_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"organization_id" text NOT NULL,
	"type" text NOT NULL,
	"payload" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"dispatched_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "outbox_events" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "audit_chains" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"position" bigint NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "audit_chains" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "audit_checkpoints" (
	"organization_id" text NOT NULL,
	"position" bigint NOT NULL,
	"hash" text NOT NULL,
	"removed_rows" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"signature" text NOT NULL,
	CONSTRAINT "audit_checkpoints_organization_id_position_pk" PRIMARY KEY("organization_id","position")
);
--> statement-breakpoint
ALTER TABLE "audit_checkpoints" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "audit_logs" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"position" bigint NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"action" text NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" text,
	"actor_email" text,
	"resource_type" text NOT NULL,
	"resource_id" text,
	"ip" text,
	"user_agent" text,
	"location" text,
	"request_id" text,
	"details" jsonb NOT NULL,
	"previous_hash" text NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "audit_logs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "one_time_codes" (
	"hash" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"user_id" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "one_time_codes" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "refresh_tokens" (
	"hash" text PRIMARY KEY NOT NULL,
	"session_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone,
	"successor" text
);
--> statement-breakpoint
ALTER TABLE "refresh_tokens" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"ip" text,
	"user_agent" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "sessions" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sign_in_flows" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sign_in_flows" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"public_jwk" text NOT NULL,
	"private_jwk" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"retired_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "signing_keys" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"email_verified" boolean DEFAULT false NOT NULL,
	"name" text NOT NULL,
	"picture" text,
	"provider_subject" text,
	"provider_refresh_token" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "users_provider_subject_unique" UNIQUE("provider_subject")
);
--> statement-breakpoint
ALTER TABLE "users" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "invitations" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"status" text NOT NULL,
	"token_hash" text NOT NULL,
	"invited_by_id" text NOT NULL,
	"invited_by_email" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"resent_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "invitations" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "memberships" (
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp (3) with time zone NOT NULL,
	"last_active_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "memberships_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "memberships" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "organization_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"kind" text NOT NULL,
	"sealed" text,
	"derivation" jsonb,
	"fingerprint" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"retired_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "organization_keys" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"plan" text NOT NULL,
	"billing_cycle" text DEFAULT 'monthly' NOT NULL,
	"timezone" text DEFAULT 'UTC' NOT NULL,
	"default_storage_id" text,
	"deleted_at" timestamp (3) with time zone,
	"recovery_deadline" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "organizations" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "service_accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"permissions" jsonb NOT NULL,
	"key_hash" text NOT NULL,
	"previous_key_hash" text,
	"previous_key_valid_until" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "service_accounts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "one_time_codes" ADD CONSTRAINT "one_time_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_keys" ADD CONSTRAINT "organization_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_expiry" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "outbox_events_waiting" ON "outbox_events" USING btree ("position") WHERE "outbox_events"."dispatched_at" is null;--> statement-breakpoint
CREATE INDEX "outbox_events_by_organization" ON "outbox_events" USING btree ("organization_id","created_at");--> statement-breakpoint
CREATE INDEX "audit_logs_by_position" ON "audit_logs" USING btree ("organization_id","position");--> statement-breakpoint
CREATE INDEX "audit_logs_by_action" ON "audit_logs" USING btree ("organization_id","action","position");--> statement-breakpoint
CREATE INDEX "audit_logs_by_time" ON "audit_logs" USING btree ("organization_id","timestamp");--> statement-breakpoint
CREATE INDEX "one_time_codes_by_expiry" ON "one_time_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "refresh_tokens_by_session" ON "refresh_tokens" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "sessions_by_user" ON "sessions" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "sign_in_flows_by_expiry" ON "sign_in_flows" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_one_current" ON "signing_keys" USING btree ((true)) WHERE "signing_keys"."retired_at" is null;--> statement-breakpoint
CREATE INDEX "users_by_email" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_token" ON "invitations" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_one_pending" ON "invitations" USING btree ("organization_id",lower("email")) WHERE "invitations"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "memberships_by_user" ON "memberships" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "memberships_one_owner" ON "memberships" USING btree ("organization_id") WHERE "memberships"."role" = 'owner';--> statement-breakpoint
CREATE UNIQUE INDEX "organization_keys_current" ON "organization_keys" USING btree ("organization_id") WHERE "organization_keys"."retired_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "organizations_slug" ON "organizations" USING btree ("slug");--> statement-breakpoint
CREATE INDEX "organizations_to_purge" ON "organizations" USING btree ("recovery_deadline") WHERE "organizations"."deleted_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "service_accounts_one" ON "service_accounts" USING btree ("organization_id");--> statement-breakpoint
CREATE UNIQUE INDEX "service_accounts_key" ON "service_accounts" USING btree ("key_hash");--> statement-breakpoint
CREATE INDEX "service_accounts_previous_key" ON "service_accounts" USING btree ("previous_key_hash");--> statement-breakpoint
CREATE POLICY "system" ON "idempotency_keys" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "installation_secrets" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "outbox_events" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("outbox_events"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("outbox_events"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "outbox_events" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "audit_chains" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("audit_chains"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("audit_chains"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "audit_chains" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "audit_checkpoints" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("audit_checkpoints"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("audit_checkpoints"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "audit_checkpoints" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "audit_logs" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("audit_logs"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("audit_logs"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "audit_logs" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "one_time_codes" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "refresh_tokens" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "sessions" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "sign_in_flows" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "signing_keys" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "users" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "users" AS PERMISSIVE FOR SELECT TO "holdfast_tenant" USING (exists (select 1 from memberships where memberships.user_id = "users"."id"));--> statement-breakpoint
CREATE POLICY "tenant" ON "invitations" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("invitations"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("invitations"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "invitations" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "memberships" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("memberships"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("memberships"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "memberships" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "organization_keys" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("organization_keys"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("organization_keys"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "organization_keys" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "organizations" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("organizations"."id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("organizations"."id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "organizations" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "service_accounts" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("service_accounts"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("service_accounts"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "service_accounts" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);