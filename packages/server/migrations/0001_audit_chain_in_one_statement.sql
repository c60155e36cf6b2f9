CREATE TABLE "outgoing_mails" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "outgoing_mails" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "projects" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"source_project_id" text NOT NULL,
	"database_id" text NOT NULL,
	"connection_type" text NOT NULL,
	"connection_status" text NOT NULL,
	"connection_email" text,
	"connection_user_id" text,
	"reconnect_user_id" text,
	"connection_host" text,
	"credentials" text,
	"connection_error" jsonb,
	"connection_checked_at" timestamp (3) with time zone,
	"backup_timeout_minutes" integer DEFAULT 30 NOT NULL,
	"read_rate_limit" integer,
	"write_ramp_up" boolean DEFAULT true NOT NULL,
	"include_auth_users" boolean DEFAULT false NOT NULL,
	"max_reads_per_backup" bigint,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "projects" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "storage_destinations" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"bucket" text,
	"region" text,
	"endpoint" text,
	"prefix" text DEFAULT '' NOT NULL,
	"path" text,
	"force_path_style" boolean DEFAULT false NOT NULL,
	"object_lock" jsonb,
	"credentials" text,
	"status" text NOT NULL,
	"error" jsonb,
	"last_checked_at" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "storage_destinations" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "storage_tasks" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"storage_destination_id" text NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"to_storage_destination_id" text,
	"progress" jsonb NOT NULL,
	"result" jsonb,
	"error" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "storage_tasks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "webhook_attempts" (
	"delivery_id" text NOT NULL,
	"attempt" integer NOT NULL,
	"organization_id" text NOT NULL,
	"sent_at" timestamp (3) with time zone NOT NULL,
	"url" text NOT NULL,
	"sealed_headers" text NOT NULL,
	"body" text NOT NULL,
	"status_code" integer,
	"duration_ms" integer NOT NULL,
	"error" text,
	"response_body" text,
	CONSTRAINT "webhook_attempts_delivery_id_attempt_pk" PRIMARY KEY("delivery_id","attempt")
);
--> statement-breakpoint
ALTER TABLE "webhook_attempts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"event_id" text NOT NULL,
	"event_type" text NOT NULL,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone,
	"lease_until" timestamp (3) with time zone,
	"lease_owner" text,
	"status_code" integer,
	"duration_ms" integer,
	"last_error" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"events" jsonb NOT NULL,
	"format" text NOT NULL,
	"enabled" boolean NOT NULL,
	"sealed_secret" text,
	"sealed_previous_secret" text,
	"previous_secret_valid_until" timestamp (3) with time zone,
	"sealed_headers" text NOT NULL,
	"timeout_ms" integer NOT NULL,
	"retry_enabled" boolean NOT NULL,
	"filters" jsonb NOT NULL,
	"last_triggered_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "webhooks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP INDEX "audit_logs_by_position";--> statement-breakpoint
ALTER TABLE "audit_checkpoints" DROP CONSTRAINT "audit_checkpoints_organization_id_position_pk";--> statement-breakpoint
ALTER TABLE "outbox_events" ALTER COLUMN "payload" SET DATA TYPE json;--> statement-breakpoint
ALTER TABLE "audit_checkpoints" ADD PRIMARY KEY ("organization_id");--> statement-breakpoint
ALTER TABLE "audit_chains" ADD COLUMN "previous_hash" text NOT NULL;--> statement-breakpoint
ALTER TABLE "organization_keys" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "organization_keys" ADD COLUMN "activated_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "storage_destinations" ADD CONSTRAINT "storage_destinations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "storage_tasks" ADD CONSTRAINT "storage_tasks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_webhook_deliveries_id_fk" FOREIGN KEY ("delivery_id") REFERENCES "public"."webhook_deliveries"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "outgoing_mails_by_organization" ON "outgoing_mails" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX "projects_by_organization" ON "projects" USING btree ("organization_id","id") WHERE "projects"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "projects_by_consent" ON "projects" USING btree ("connection_user_id");--> statement-breakpoint
CREATE INDEX "storage_destinations_by_organization" ON "storage_destinations" USING btree ("organization_id","id") WHERE "storage_destinations"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "storage_tasks_by_destination" ON "storage_tasks" USING btree ("organization_id","storage_destination_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_once" ON "webhook_deliveries" USING btree ("event_id","webhook_id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("webhook_id","next_attempt_at") WHERE "webhook_deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_log" ON "webhook_deliveries" USING btree ("webhook_id","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_failed" ON "webhook_deliveries" USING btree ("webhook_id","finished_at") WHERE "webhook_deliveries"."status" = 'failed';--> statement-breakpoint
CREATE INDEX "webhook_deliveries_by_age" ON "webhook_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhooks_by_organization" ON "webhooks" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "audit_logs_by_actor" ON "audit_logs" USING btree ("organization_id","actor_id","position");--> statement-breakpoint
CREATE INDEX "audit_logs_by_resource" ON "audit_logs" USING btree ("organization_id","resource_type","resource_id","position");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_keys_fingerprint" ON "organization_keys" USING btree ("organization_id","fingerprint");--> statement-breakpoint
CREATE UNIQUE INDEX "audit_logs_by_position" ON "audit_logs" USING btree ("organization_id","position");--> statement-breakpoint
CREATE POLICY "tenant" ON "outgoing_mails" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("outgoing_mails"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("outgoing_mails"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "outgoing_mails" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "projects" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("projects"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("projects"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "projects" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "storage_destinations" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("storage_destinations"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("storage_destinations"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "storage_destinations" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "storage_tasks" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("storage_tasks"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("storage_tasks"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "storage_tasks" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "webhook_attempts" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("webhook_attempts"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("webhook_attempts"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "webhook_attempts" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "webhook_deliveries" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("webhook_deliveries"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("webhook_deliveries"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "webhook_deliveries" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "tenant" ON "webhooks" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("webhooks"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("webhooks"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "webhooks" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);